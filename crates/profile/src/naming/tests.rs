use super::*;

fn native(symbol: Option<&str>) -> Frame {
    Frame { symbol: symbol.map(str::to_owned), module: Some("server".to_owned()), kind: FrameKind::Native }
}

fn kernel(symbol: &str) -> Frame {
    Frame { symbol: Some(symbol.to_owned()), module: None, kind: FrameKind::Kernel }
}

fn raw(pid: u32, kernel: &[u64], user: &[u64]) -> RawStack {
    RawStack { pid, tid: pid, kernel: kernel.to_vec(), user: user.to_vec() }
}

fn folded(stacks: &[(RawStack, u64)], functions: &Functions) -> Sampled {
    let gathered = Gathered { stacks: stacks.iter().cloned().collect(), lost: 3 };
    let threads = [(7, "worker".to_owned()), (8, "worker".to_owned())].into();
    let mut sampled = Sampled::default();
    let owner = |stack: &RawStack| (stack.pid < 10).then_some(Owner::Server);
    fold(&mut sampled, gathered, &threads, functions, owner);
    sampled
}

#[test]
fn threads_of_one_name_in_the_same_functions_are_one_stack() {
    let functions: Functions = [
        ((7, 0x10), native(Some("handle"))),
        ((7, 0x14), native(Some("handle"))),
        ((8, 0x10), native(Some("handle"))),
        ((0, 0xf0), kernel("tcp_sendmsg")),
    ]
    .into();
    let stacks = [
        (raw(7, &[0xf0], &[0x10]), 2),
        (raw(7, &[0xf0], &[0x14]), 3),
        (raw(8, &[0xf0], &[0x10]), 4),
        (raw(7, &[], &[0x10]), 1),
    ];
    let sampled = folded(&stacks, &functions);
    assert_eq!((sampled.stacks.len(), sampled.lost), (2, 3));
    let most = &sampled.stacks[0];
    let names: Vec<_> =
        most.frames.iter().map(|frame| sampled.frames[*frame as usize].symbol.as_deref()).collect();
    assert_eq!((most.samples, names), (9, vec![Some("tcp_sendmsg"), Some("handle")]));
    assert_eq!(sampled.threads, ["worker"]);
}

#[test]
fn an_idle_cpu_is_at_work_only_where_it_is_interrupted() {
    let functions: Functions = [
        ((0, 1), kernel("default_idle")),
        ((0, 2), kernel("handle_softirqs")),
        ((0, 3), kernel("tcp_v4_rcv")),
    ]
    .into();
    let stacks = [(raw(0, &[1], &[]), 50), (raw(0, &[3, 2, 1], &[]), 5), (raw(99, &[3], &[]), 2)];
    let sampled = folded(&stacks, &functions);
    assert_eq!((sampled.idle, sampled.others, sampled.samples_of(Owner::Kernel)), (50, 2, 5));
}

#[test]
fn code_of_a_file_and_code_of_a_runtime_are_told_apart() {
    let text = "55d000-55e000 r-xp 00000000 08:01 12 /usr/bin/node (deleted)\n\
        7f0000-7f1000 rwxp 00000000 00:00 0 \n\
        7f2000-7f3000 r-xp 00000000 00:05 9 /memfd:doublemapper (deleted)\n\
        7f4000-7f5000 rw-p 00000000 00:00 0 [heap]\n";
    let maps: MemoryMaps = procfs::FromRead::from_read(text.as_bytes()).expect("maps");
    let at = |address: u64, symbol: Option<&str>| Frame {
        symbol: symbol.map(str::to_owned),
        ..frame(&maps, address)
    };
    let program = at(0x55d010, None);
    assert_eq!((program.module.as_deref(), program.kind), (Some("node"), FrameKind::Native));
    assert_eq!(at(0x7f0010, Some("JS:*handle")).kind, FrameKind::Jit);
    assert_eq!(at(0x7f2010, Some("handle")).kind, FrameKind::Jit);
    assert_eq!(at(0x7f0010, None).kind, FrameKind::Jit, "also where no map names it");
    assert_eq!(at(0x7f4010, None).kind, FrameKind::Unknown, "no code at all");
    assert_eq!(at(0x1, None).kind, FrameKind::Unknown, "nothing is mapped there any more");
}

#[test]
fn a_long_name_is_cut_between_letters() {
    let long = "ö".repeat(400);
    let short = shortened(&long);
    assert!(short.len() <= MAX_NAME + '…'.len_utf8() && short.ends_with('…'), "{}", short.len());
    assert_eq!(shortened("main"), "main");
}
