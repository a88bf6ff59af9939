#!/bin/sh
# Two machines, as namespaces of the network: `two_machines.sh CARRIER BIN RETAKE`, inside `unshare -rn`.
# A server here and a client there, recorded each by its own machine; then both takes are replayed, three times.
set -eu
carrier=$1 bin=$2 retake=$3
ip link set lo up
# The other machine lives as long as this process.
unshare -n sleep 300 &
other=$!
trap 'kill $other ${nats:-}' EXIT
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
there() { nsenter -t $other -n "$@"; }
ip link add here type veth peer name there netns $other
ip address add 10.77.0.1/24 dev here
ip link set here up
there sh -c 'ip link set lo up && ip address add 10.77.0.2/24 dev there && ip link set there up'

case $carrier in
tcp) export RETAKE_TRANSPORT=tcp:server=10.77.0.1:7001,client1=10.77.0.2:7001 ;;
nats)
    nats-server -a 10.77.0.1 -p 4222 >/dev/null 2>&1 &
    nats=$!
    until ss -ltn | grep -q 10.77.0.1:4222; do sleep 0.05; done
    export RETAKE_TRANSPORT=nats://10.77.0.1:4222
    ;;
esac

there "$retake" record -q -o there -- "$bin/care-client1" >there.0 &
client=$!
"$retake" record -q -o here -- "$bin/care-server" 10 >here.0
wait $client
for time in 1 2 3; do
    there "$retake" replay there >there.$time &
    client=$!
    "$retake" replay here >here.$time
    wait $client
done
