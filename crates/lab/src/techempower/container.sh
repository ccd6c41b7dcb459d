engine=$1 image=$2
shift 2
id=$SCRATCH/container
ask() { "$engine" "$@"; }

# On SIGTERM it is ended at once and removed, whoever else may be its parent.
end() {
    ask kill --signal KILL "$(cat "$id")"
    ask rm --force "$(cat "$id")"
}
trap 'end >/dev/null 2>&1' TERM

# The hard limit of $1, at most $2.
most() {
    limit=$(sed -n "s/^Max $1  *[^ ]*  *\([^ ]*\).*/\1/p" /proc/self/limits)
    if [ "$limit" = unlimited ] || [ "$limit" -gt "$2" ]; then limit=$2; fi
    echo "$limit"
}

# Limits are those of all contenders. An engine has higher ones of its own, which a user without CAP_SYS_RESOURCE (capabilities(7)) cannot
# set, so then they are named.
set -- "$image" "$@"
files=$(most 'open files' 1048576) tasks=$(most processes 16384)
rights=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
if [ "$engine" = docker ]; then
    set -- --init --ulimit "nofile=$files:$files" "$@"
elif [ $((0x$rights >> 24 & 1)) = 1 ]; then
    set -- --ulimit host "$@"
else
    set -- --ulimit "nofile=$files:$files" --ulimit "nproc=$tasks:$tasks" "$@"
fi

# Where the controllers of control groups are split between both versions (cgroups(7)), crun refuses. Root can show it a hierarchy
# without any, in a mount namespace of its own; the CPUs are then those that the engine inherits.
without_groups='umount --recursive /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"'
split=$(cat /sys/fs/cgroup/unified/cgroup.controllers 2>/dev/null)
if [ "$engine" = podman ] && [ -n "$split" ] && [ "$(id -u)" = 0 ]; then
    ask() { unshare --mount sh -c "$without_groups" "$engine" "$@"; }
    set -- --cgroups=disabled "$@"
else
    set -- --cpuset-cpus "$CPUS" "$@"
fi

database=${DATABASE_URL#*@}
database=${database%%[:/]*}
ask run --rm --cidfile "$id" --network host --security-opt seccomp=unconfined \
    --add-host "tfb-server:$ADDRESS" \
    --add-host "tfb-database:${database:-$ADDRESS}" "$@" &
wait "$!"
code=$?
wait
exit "$code"
