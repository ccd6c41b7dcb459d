# A server for the workloads hello and json.
using HTTP
using JSON3

answer(type, body) = HTTP.Response(200, ["Server" => "HTTP.jl", "Content-Type" => type], body)
hello(_) = answer("text/plain", "hello")
greet(_) = answer("application/json", JSON3.write((message = "Hello, World!",)))

function main()
    router = HTTP.Router()
    HTTP.register!(router, "GET", "/", hello)
    HTTP.register!(router, "GET", "/json", greet)
    HTTP.serve(router, ENV["ADDRESS"], parse(Int, ENV["PORT"]))
end

main()
