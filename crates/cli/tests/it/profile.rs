//! Where a server's time goes, of real servers under real load.

use assay_model::part::Part;
use assay_model::profile::{Facet, Owner, Profile};
use assay_skip::skip;

use crate::support::{Lab, has};

/// One life of each, profiled.
const EXPERIMENT: &str = "name = \"profiled\"\ncontenders = [\"nginx\"]\nrounds = 1\nwarmup_s = 0.05\nwindow_s = 0.1\naa = false\n\
    long_look = false\nprofile = true\n[[measure]]\nworkload = \"hello\"\nconnections = [4]\n";
/// nginx at the port that it is told.
const NGINX: &str = r#"cat > "$SCRATCH/nginx.conf" <<EOF
daemon off; worker_processes 1; pid $SCRATCH/pid; events { worker_connections 64; }
http { access_log off; client_body_temp_path $SCRATCH/b; proxy_temp_path $SCRATCH/p; fastcgi_temp_path $SCRATCH/f;
uwsgi_temp_path $SCRATCH/u; scgi_temp_path $SCRATCH/s; keepalive_requests 1000000;
server { listen $PORT; location / { return 200 hello; } } }
EOF
exec nginx -e stderr -c "$SCRATCH/nginx.conf""#;

#[test]
fn the_time_of_nginx_goes_to_the_kernel_and_to_itself() {
    if !has("nginx") {
        return;
    }
    let lab = Lab::new();
    lab.write("experiments/profiled.toml", EXPERIMENT);
    lab.script("nginx", NGINX);
    lab.assay(&["run", "--no-check", "-e", "profiled"]).assert().code(0);
    let record = lab.record();
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let profiles: Vec<&Profile> = runs.flat_map(|run| &run.profiles).collect();
    assert!(!profiles.is_empty(), "{:?}", record.rounds);
    for profile in profiles {
        if let Some(refused) = profile.refused.iter().find(|refused| refused.what == Facet::Samples) {
            return skip("root", &refused.why);
        }
        assert!(profile.sampled.answers > 0 && profile.sampled.samples_of(Owner::Server) > 0, "{profile:?}");
        let parts = assay_verdict::budget::samples_by_part(&profile.sampled);
        let of_kernel = [Part::Send, Part::Receive, Part::Sockets, Part::Network];
        assert!(of_kernel.iter().any(|part| parts.contains_key(part)), "{parts:?}");
        assert!(parts.contains_key(&Part::Application), "{parts:?}");
        let traced = profile.traced.as_ref().expect("root may follow system calls");
        let sending =
            traced.calls.iter().find(|call| call.name.starts_with("write") || call.name.starts_with("send"));
        assert!(sending.is_some_and(|call| call.count * 2 >= traced.answers), "{traced:?}");
    }
}
