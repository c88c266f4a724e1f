#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# ceph.sh PORT: a monitor of Ceph with its client over async+rdma. The client stores a random value, reads it back and
# compares it. The queue lengths are smaller than Ceph's, whose default registers 32,768 buffers of 128 KB.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
devices=(/sys/class/infiniband/*)
fsid=5b8a4e2c-0f35-4c6b-9d0e-3d6d5b8e2f11
address=v2:127.0.0.1:$1/0

export CEPH_CONF=$folder/ceph.conf
cat >"$CEPH_CONF" <<END
[global]
fsid = $fsid
mon host = $address
auth cluster required = none
auth service required = none
auth client required = none
ms type = async+rdma
ms async rdma device name = ${devices[0]##*/}
ms async rdma receive buffers = 2048
ms async rdma receive queue len = 128
ms async rdma send buffers = 1024
ms async rdma buffer size = 16384
ms async op threads = 1
log file = $folder/log
admin socket = $folder/\$name.\$pid.asok
run dir = $folder
mon data = $folder/mon
[mon.a]
public addr = $address
END
monmaptool --create --fsid "$fsid" --addv a "[$address]" "$folder/monmap"
ceph-mon --mkfs -i a --monmap "$folder/monmap"
ceph-mon -f -i a >"$folder/out" 2>&1 &
monitor=$!

status=0
head -c 48000 /dev/urandom | base64 -w 0 >"$folder/value" # Ceph's limit is 65,536 bytes
{
	ceph -s &&
		ceph config-key set value -i "$folder/value" &&
		ceph config-key get value -o "$folder/read" &&
		cmp "$folder/value" "$folder/read"
} || status=$?
kill "$monitor"
wait "$monitor" || status=$?
[ "$status" = 0 ] || cat "$folder/out" "$folder/log"
echo "packets: $(cat "${devices[0]}/ports/1/counters/port_xmit_packets")"
exit "$status"
