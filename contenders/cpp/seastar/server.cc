// hello, json, plaintext and byte with Seastar's HTTP server: one shard for each CPU given, on the stack that
// $SEASTAR_STACK names (posix, or native where Seastar was built with DPDK).
#include <seastar/core/app-template.hh>
#include <seastar/core/reactor.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/thread.hh>
#include <seastar/http/function_handlers.hh>
#include <seastar/http/httpd.hh>
#include <seastar/http/routes.hh>
#include <seastar/json/json_elements.hh>
#include <seastar/net/inet_address.hh>
#include <seastar/util/defer.hh>

#include <cstdlib>
#include <memory>
#include <string>

using namespace seastar;

struct message : json::json_base {
  json::json_element<std::string> text;

  message() { add(&text, "message"); }
  message(const message& other) : message() { text = other.text(); }
};

static httpd::function_handler* text(const char* body) {
  return new httpd::function_handler([body](httpd::const_req) { return sstring(body); }, "txt");
}

static httpd::function_handler* greeting() {
  return new httpd::function_handler([](httpd::const_req) {
    message greeting;
    greeting.text = "Hello, World!";
    return json::json_return_type(greeting);
  });
}

static void route(httpd::routes& routes) {
  routes.add(httpd::operation_type::GET, httpd::url("/"), text("hello"));
  routes.add(httpd::operation_type::GET, httpd::url("/plaintext"), text("Hello, World!"));
  routes.add(httpd::operation_type::GET, httpd::url("/byte"), text("!"));
  routes.add(httpd::operation_type::GET, httpd::url("/json"), greeting());
}

static future<> serve() {
  return async([] {
    httpd::http_server_control server;
    server.start("seastar").get();
    auto stop = defer([&server]() noexcept { server.stop().get(); });
    server.set_routes(route).get();
    net::inet_address address(std::getenv("ADDRESS"));
    server.listen(socket_address(address, std::stoi(std::getenv("PORT")))).get();
    promise<> asked; // to end, by SIGTERM
    handle_signal(SIGTERM, [&asked] { asked.set_value(); }, true);
    asked.get_future().get();
  });
}

int main(int argc, char** argv) {
  app_template app;
  return app.run(argc, argv, serve);
}
