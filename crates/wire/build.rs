//! Compiles what the feature `dpdk` needs of C, against the DPDK that pkg-config finds.

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=src/dpdk/shim.c");
    #[cfg(feature = "dpdk")]
    dpdk::compile()?;
    Ok(())
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    pub(crate) fn compile() -> Result<(), String> {
        let mut build = cc::Build::new();
        build.file("src/dpdk/shim.c");
        for flag in pkg_config("--cflags")?.split_whitespace() {
            build.flag(flag);
        }
        build.try_compile("assay_dpdk_shim").map_err(|error| error.to_string())?;
        for flag in pkg_config("--libs")?.split_whitespace() {
            match (flag.strip_prefix("-l"), flag.strip_prefix("-L")) {
                (Some(library), _) => println!("cargo::rustc-link-lib={library}"),
                (_, Some(folder)) => println!("cargo::rustc-link-search=native={folder}"),
                _ => {}
            }
        }
        Ok(())
    }

    fn pkg_config(what: &str) -> Result<String, String> {
        let output = Command::new("pkg-config").args([what, "libdpdk"]).output();
        match output {
            Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(output) => Err(format!(
                "the feature `dpdk` needs DPDK's files for developers (Debian: libdpdk-dev): {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
            Err(error) => Err(format!("the feature `dpdk` needs pkg-config: {error}")),
        }
    }
}
