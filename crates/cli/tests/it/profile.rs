//! Where a server's time goes, of real servers under real load.

use assay_model::part::Part;
use assay_model::profile::{Facet, Owner, Profile};
use assay_skip::skip;

use crate::support::{Lab, has, stdout};

/// One life of each, profiled.
const EXPERIMENT: &str = "name = \"profiled\"\ncontenders = [\"nginx\"]\nrounds = 1\nwarmup_s = 0.05\nwindow_s = 0.1\naa = false\n\
    long_look = false\nprofile = true\n[[measure]]\nworkload = \"hello\"\nconnections = [4]\n";
/// nginx at the port that it is told.
pub(crate) const NGINX: &str = r#"cat > "$SCRATCH/nginx.conf" <<EOF
daemon off; worker_processes 1; pid $SCRATCH/pid; events { worker_connections 64; }
http { access_log off; client_body_temp_path $SCRATCH/b; proxy_temp_path $SCRATCH/p; fastcgi_temp_path $SCRATCH/f;
uwsgi_temp_path $SCRATCH/u; scgi_temp_path $SCRATCH/s; keepalive_requests 1000000;
server { listen $PORT; location / { return 200 hello; } } }
EOF
exec nginx -e stderr -c "$SCRATCH/nginx.conf""#;

/// Two rounds over three cells, profiled once.
const ONCE: &str = "name = \"once\"\ncontenders = [\"good\"]\nrounds = 2\nwarmup_s = 0.05\nwindow_s = 0.1\naa = false\n\
    long_look = false\nprofile = \"once\"\n[[measure]]\nworkload = \"hello\"\nconnections = [1, 2, 4]\n";

#[test]
fn once_is_in_the_first_round_in_one_cell_and_a_sentence_on_the_terminal() {
    let lab = Lab::new();
    lab.write("experiments/once.toml", ONCE);
    lab.good("good");
    let told = lab.assay(&["run", "--no-check", "-e", "once"]).assert().code(0);
    let record = lab.record();
    let [first, last] = record.rounds.as_slice() else { panic!("two rounds: {:?}", record.rounds) };
    assert!(last.runs.iter().all(|run| run.profiles.is_empty()), "{last:?}");
    assert!(!first.runs.is_empty(), "{first:?}");
    for run in &first.runs {
        let [profile] = run.profiles.as_slice() else { panic!("{}: {:?}", run.contender, run.profiles) };
        assert_eq!((profile.cell.connections, &profile.traced), (2, &None), "{}", run.contender);
        if let Some(refused) = profile.refused.iter().find(|refused| refused.what == Facet::Samples) {
            return skip("root", &refused.why);
        }
    }
    let told = stdout(&told);
    assert_eq!(told.matches("show --why").count(), 1, "one sentence: {told}");
    assert!(!told.contains("Where the time of an answer goes"), "bars are for the page: {told}");
    let why = stdout(&lab.assay(&["show", "--why"]).assert().code(0));
    assert!(why.contains("Where the time of an answer goes: hello, 2 connections"), "{why}");
}

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
