module assay/contenders/coder-websocket

go 1.23.0

require github.com/coder/websocket v1.8.14
