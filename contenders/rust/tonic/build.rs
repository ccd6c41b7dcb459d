//! The service of `workloads/echo.proto`, told to tonic's generator by hand, so that building needs no compiler of Protocol Buffers.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let method = |name: &str, route: &str| {
        // A google.protobuf.StringValue is a String to prost.
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type("String")
            .output_type("String")
            .codec_path("tonic_prost::ProstCodec")
            .build()
    };
    let service = Service::builder().name("Echo").package("assay");
    let service = service.method(method("say", "Say")).method(method("hello", "Hello")).build();
    Builder::new().build_client(false).compile(&[service]);
}
