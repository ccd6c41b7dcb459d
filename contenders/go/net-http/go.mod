module assay/contenders/net-http

go 1.23.0
