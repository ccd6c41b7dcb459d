use super::*;

/// Functions seen at work in servers under load, by the kernel that they were seen in, each with its part. A function that is in several
/// kernels stands at the oldest.
const KERNELS: &[(&str, &[(&str, Part)])] = &[
    (
        "5.10",
        &[
            ("copy_user_enhanced_fast_string", Part::Copying),
            ("copy_user_generic_unrolled", Part::Copying),
            ("_copy_from_iter_full", Part::Copying),
            ("copyout", Part::Copying),
            ("__skb_datagram_iter", Part::Copying),
            ("sk_stream_alloc_skb", Part::Send),
            ("skb_entail", Part::Send),
            ("tcp_sendmsg_locked", Part::Send),
            ("__tcp_transmit_skb", Part::Send),
            ("tcp_write_xmit", Part::Send),
            ("__ip_queue_xmit", Part::Send),
            ("ip_finish_output2", Part::Send),
            ("tcp_recvmsg", Part::Receive),
            ("tcp_v4_rcv", Part::Receive),
            ("tcp_rcv_established", Part::Receive),
            ("tcp_clean_rtx_queue.constprop.0", Part::Receive),
            ("ip_protocol_deliver_rcu", Part::Receive),
            ("__inet_lookup_established", Part::Receive),
            ("__netif_receive_skb_core.constprop.0", Part::Network),
            ("__dev_queue_xmit", Part::Network),
            ("loopback_xmit", Part::Network),
            ("net_rx_action", Part::Network),
            ("__do_softirq", Part::Network),
            ("__local_bh_enable_ip", Part::Network),
            ("try_to_wake_up", Part::Scheduling),
            ("check_preempt_curr", Part::Scheduling),
            ("enqueue_entity", Part::Scheduling),
            ("pick_next_task_fair", Part::Scheduling),
            ("finish_task_switch", Part::Scheduling),
            ("futex_wait_queue_me", Part::Scheduling),
            ("ep_poll", Part::Sockets),
            ("ep_poll_callback", Part::Sockets),
            ("ep_scan_ready_list.constprop.0", Part::Sockets),
            ("sock_def_readable", Part::Sockets),
            ("__fget_light", Part::Sockets),
            ("__x64_sys_recvfrom", Part::Sockets),
            ("__x64_sys_epoll_wait", Part::Sockets),
            ("io_submit_sqes", Part::Sockets),
            ("do_syscall_64", Part::Entry),
            ("entry_SYSCALL_64_after_hwframe", Part::Entry),
            ("syscall_exit_to_user_mode", Part::Entry),
            ("kmem_cache_alloc_node", Part::Memory),
            ("__kmalloc_node_track_caller", Part::Memory),
            ("do_user_addr_fault", Part::Memory),
            ("generic_file_buffered_read", Part::Files),
            ("link_path_walk.part.0", Part::Files),
        ],
    ),
    (
        "5.15",
        &[
            ("tcp_recvmsg_locked", Part::Receive),
            ("__napi_poll", Part::Network),
            ("ep_send_events", Part::Sockets),
            ("io_issue_sqe", Part::Sockets),
            ("filemap_read", Part::Files),
            ("skb_page_frag_refill", Part::Memory),
        ],
    ),
    (
        "6.1",
        &[
            ("tcp_stream_alloc_skb", Part::Send),
            ("futex_wait_queue", Part::Scheduling),
            ("finish_task_switch.isra.0", Part::Scheduling),
            ("kmalloc_reserve", Part::Memory),
            ("kmem_cache_alloc_lru", Part::Memory),
            ("do_madvise.part.0", Part::Memory),
        ],
    ),
    (
        "6.6",
        &[
            ("rep_movs_alternative", Part::Copying),
            ("tcp_skb_entail", Part::Send),
            ("skb_splice_from_iter", Part::Send),
            ("pick_eevdf", Part::Scheduling),
            ("napi_consume_skb", Part::Network),
        ],
    ),
    (
        "6.12",
        &[
            ("handle_softirqs", Part::Network),
            ("wakeup_preempt", Part::Scheduling),
            ("dequeue_entities", Part::Scheduling),
            ("sched_balance_newidle", Part::Scheduling),
            ("x64_sys_call", Part::Entry),
            ("__sys_sendto", Part::Sockets),
        ],
    ),
    (
        "6.18",
        &[
            ("pick_task_fair", Part::Scheduling),
            ("__get_user_nocheck_4", Part::Unassigned),
            ("__alloc_frozen_pages_noprof", Part::Memory),
            ("kmem_cache_alloc_node_noprof", Part::Memory),
            ("ep_try_send_events", Part::Sockets),
        ],
    ),
];

fn frame(kind: FrameKind, symbol: Option<&str>, module: Option<&str>) -> Frame {
    Frame { symbol: symbol.map(str::to_owned), module: module.map(str::to_owned), kind }
}

fn kernel(symbol: &str) -> Frame {
    frame(FrameKind::Kernel, Some(symbol), None)
}

fn native(symbol: &str, module: &str) -> Frame {
    frame(FrameKind::Native, Some(symbol), Some(module))
}

/// The part of one stack, innermost function first.
fn part(thread: &str, frames: Vec<Frame>) -> Part {
    let numbers = (0..).take(frames.len()).collect();
    let stack = CallStack { owner: Owner::Server, thread: 0, frames: numbers, samples: 1 };
    let sampled =
        Sampled { threads: vec![thread.to_owned()], frames, stacks: vec![stack], ..Sampled::default() };
    parts_of_stacks(&sampled)[0]
}

#[test]
fn functions_of_kernels_from_5_10_to_6_18_have_their_parts() {
    for (version, functions) in KERNELS {
        for (function, expected) in *functions {
            assert_eq!(part("server", vec![kernel(function)]), *expected, "{function} of Linux {version}");
        }
    }
}

#[test]
fn what_everybody_calls_belongs_to_who_calls_it() {
    let stack =
        |functions: &[&str]| part("server", functions.iter().map(|function| kernel(function)).collect());
    assert_eq!(
        stack(&["_raw_spin_unlock_irqrestore", "try_to_wake_up", "ep_poll_callback"]),
        Part::Scheduling
    );
    assert_eq!(stack(&["memset", "tcp_sendmsg_locked", "sock_write_iter", "do_syscall_64"]), Part::Send);
    assert_eq!(stack(&["srso_alias_return_thunk", "unheard_of"]), Part::Unassigned);
}

#[test]
fn what_arrives_in_the_midst_of_sending_is_received() {
    let stack = [
        "tcp_ack",
        "tcp_rcv_established",
        "tcp_v4_rcv",
        "process_backlog",
        "__tcp_transmit_skb",
        "tcp_sendmsg",
    ];
    assert_eq!(part("server", stack.iter().map(|function| kernel(function)).collect()), Part::Receive);
}

#[test]
fn a_programs_own_code_is_divided_by_function_and_file() {
    let of = |symbol: &str, module: &str| part("server", vec![native(symbol, module)]);
    assert_eq!(of("ngx_http_process_request", "nginx"), Part::Application);
    assert_eq!(of("__memmove_avx_unaligned_erms", "libc.so.6"), Part::Libc);
    assert_eq!(of("memcpy", "static-server"), Part::Libc, "linked into the program");
    assert_eq!(of("runtime.mallocgc", "server"), Part::Runtime);
    assert_eq!(of("main.handle", "server"), Part::Application);
    assert_eq!(of("v8::internal::Factory::NewString", "node"), Part::Runtime);
    assert_eq!(of("AES_encrypt", "libcrypto.so.3"), Part::Tls);
    assert_eq!(of("hyper::proto::h1::parse", "server"), Part::Application);
    assert_eq!(
        part("server", vec![frame(FrameKind::Native, None, Some("nginx"))]),
        Part::Application,
        "stripped"
    );
    assert_eq!(part("server", vec![frame(FrameKind::Unknown, None, None)]), Part::Unassigned);
    assert_eq!(part("server", Vec::new()), Part::Unassigned);
}

#[test]
fn tcp_in_user_space_has_the_parts_of_the_kernels() {
    let of = |symbol: &str| part("nginx", vec![native(symbol, "libassay_preload.so")]);
    assert_eq!(of("assay_tcp::connection::arrive::arrive"), Part::Receive);
    assert_eq!(of("assay_tcp::connection::depart::depart"), Part::Send);
    assert_eq!(of("<assay_wire::ring::sending::Sender as assay_wire::parts::Tx>::send"), Part::Network);
    assert_eq!(of("assay_preload::core::calls::recv"), Part::Sockets);
    assert_eq!(of("<assay_tcp::engine::UserEngine<W> as assay_engine::Engine>::poll"), Part::Sockets);
    assert_eq!(of("hashbrown::raw::RawTable<T,A>::find"), Part::Sockets, "what it uses is in its file");
    assert_eq!(of("memcpy"), Part::Libc);
}

#[test]
fn code_of_a_runtimes_making_is_the_programs_or_the_runtimes() {
    let jit = |symbol: &str| part("node", vec![frame(FrameKind::Jit, Some(symbol), None)]);
    assert_eq!(jit("JS:*handle /srv/server.js:4:1"), Part::Jit);
    assert_eq!(jit("Builtin:InterpreterEntryTrampoline"), Part::Runtime);
    assert_eq!(jit("Interpreter"), Part::Runtime);
    assert_eq!(jit("Lcom/example/Handler;::handle"), Part::Jit);
}

#[test]
fn collectors_and_tls_are_known_by_who_calls() {
    let go = vec![native("runtime.memmove", "server"), native("runtime.gcDrain", "server")];
    assert_eq!(part("server", go), Part::Collector);
    let go = vec![native("runtime.memmove", "server"), native("crypto/tls.(*Conn).Write", "server")];
    assert_eq!(part("server", go), Part::Tls);
    let node = vec![
        native("__memmove_avx_unaligned", "libc.so.6"),
        native("v8::internal::Scavenger::Process", "node"),
    ];
    assert_eq!(part("node", node), Part::Collector);
    let java = vec![frame(FrameKind::Native, None, Some("libjvm.so"))];
    assert_eq!(part("GC Thread#3", java.clone()), Part::Collector);
    assert_eq!(part("qtp-12", java.clone()), Part::Runtime);
    let waking = vec![kernel("try_to_wake_up"), java[0].clone()];
    assert_eq!(part("GC Thread#3", waking), Part::Scheduling, "the kernel's work is the kernel's");
}

#[test]
fn every_sample_of_the_server_is_in_one_part_and_no_other() {
    let stack = |owner, frame: u32, samples| CallStack { owner, thread: 0, frames: vec![frame], samples };
    let sampled = Sampled {
        threads: vec!["server".to_owned()],
        frames: vec![kernel("tcp_v4_rcv"), native("main", "server"), frame(FrameKind::Unknown, None, None)],
        stacks: vec![
            stack(Owner::Server, 0, 5),
            stack(Owner::Server, 1, 7),
            stack(Owner::Server, 2, 1),
            stack(Owner::Server, 99, 2),
            stack(Owner::Kernel, 0, 50),
        ],
        ..Sampled::default()
    };
    let parts = samples_by_part(&sampled);
    assert_eq!(parts, [(Part::Receive, 5), (Part::Application, 7), (Part::Unassigned, 3)].into());
    assert_eq!(parts.values().sum::<u64>(), sampled.samples_of(Owner::Server));
}

#[test]
fn the_own_function_of_a_lock_is_behind_those_of_every_library() {
    let frame = |symbol: Option<&str>, module: &str| Frame {
        symbol: symbol.map(str::to_owned),
        module: Some(module.to_owned()),
        kind: FrameKind::Native,
    };
    let taken = [
        frame(Some("__lll_lock_wait"), "libc.so.6"),
        frame(None, "shop"),
        frame(Some("<std::sync::Mutex<T>>::lock"), "shop"),
        frame(Some("reserve"), "shop"),
    ];
    assert_eq!(own_function(&taken).as_deref(), Some("reserve"));
    assert_eq!(own_function(&taken[..2]).as_deref(), Some("__lll_lock_wait"));
    assert_eq!(own_function(&[]), None);
}

/// Since Go 1.24 threads that wait for a lock of its runtime park at a word of their own (`runtime/lock_spinbit.go`).
#[test]
fn a_lock_inside_gos_runtime_is_told_by_who_takes_it() {
    let wait =
        ["runtime.futex.abi0", "runtime.futexsleep", "runtime.semasleep"].map(|name| native(name, "shop"));
    let taken = ["runtime.lock2", "runtime.chansend", "runtime.chansend1", "main.reserve"];
    let taken = [&wait[..], &taken.map(|name| native(name, "shop"))].concat();
    assert_eq!(function_that_locks(&taken).as_deref(), Some("main.reserve"));
    // On the scheduler's own stack nothing of the program is above it.
    assert_eq!(function_that_locks(&taken[..5]).as_deref(), Some("runtime.chansend"));
    let idle = ["runtime.notesleep", "runtime.mPark", "runtime.stopm"].map(|name| native(name, "shop"));
    assert_eq!(function_that_locks(&[&wait[..2], &idle].concat()), None, "a thread without work");
}
