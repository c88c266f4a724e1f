#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# iSER: a disk of tgtd, which libiscsi's programs ask and read. tgtd listens for RDMA at its own port, 3260: it refuses any
# that is given (iser.c:3592 looks at an errno that nobody set to 0). It takes who is bound by address and by name.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
control=$((RANDOM % 32768)) # of its Unix socket: 0 to 32767
target=iqn.2024-01.hcasim:disk
initiator=iqn.2024-01.hcasim:reader
disk=iser://10.77.0.1:3260/$target/1

admin() { tgtadm -C "$control" "$@"; }

mkdir -p /var/run/tgtd
truncate -s 4M "$folder/disk"
tgtd -f -C "$control" --iscsi portal=127.0.0.1:"$1" >"$folder/log" 2>&1 &
server=$!
until admin --mode sys --op show >"$folder/show" 2>&1; do
	kill -0 "$server" || { cat "$folder/log" "$folder/show"; exit 1; }
done
admin --lld iser --mode target --op new --tid 1 -T "$target"
admin --lld iser --mode logicalunit --op new --tid 1 --lun 1 -b "$folder/disk"
admin --lld iser --mode target --op bind --tid 1 -I ALL
admin --lld iser --mode target --op bind --tid 1 -Q "$initiator"
status=0
iscsi-inq -i "$initiator" "$disk" || status=1
iscsi-readcapacity16 -i "$initiator" "$disk" || status=1
for test in Write10 Read10; do
	iscsi-test-cu -i "$initiator" --dataloss --test "SCSI.$test.Simple" "$disk" || status=1
done
echo "packets: $(cat /sys/class/infiniband/hcasim0/ports/1/counters/port_xmit_packets)"
# tgtd calls a NULL pointer (conn.c:98: iser.c:3648 has no ep_close) if a target is deleted while a connection of it is in time-wait.
while admin --lld iser --mode target --op show | grep -q Connection; do sleep 0.1; done
admin --lld iser --mode target --op delete --tid 1 --force
admin --mode sys --op delete
wait "$server"
exit "$status"
