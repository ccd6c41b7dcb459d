# hello, json, plaintext, byte and index with HTTP.jl.
using HTTP
using JSON3

const FILES = ENV["FILES"]

answer(status, type, body) = HTTP.Response(status, ["Server" => "HTTP.jl", "Content-Type" => type], body)
text(body) = _ -> answer(200, "text/plain", body)
greet(_) = answer(200, "application/json", JSON3.write((message = "Hello, World!",)))
page(_) = answer(200, "text/html", read(joinpath(FILES, "index.html")))

function main()
    router = HTTP.Router()
    HTTP.register!(router, "GET", "/", text("hello"))
    HTTP.register!(router, "GET", "/plaintext", text("Hello, World!"))
    HTTP.register!(router, "GET", "/byte", text("!"))
    HTTP.register!(router, "GET", "/json", greet)
    HTTP.register!(router, "GET", "/index.html", page)
    HTTP.serve(router, ENV["ADDRESS"], parse(Int, ENV["PORT"]))
end

main()
