# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs a server and its client as two processes of one machine: `hcasim run -- python3 pair.py JOB`.

JOB is one JSON object:
    server, client: command lines; ready: the library of ready.c
    announce: (optional) when the client prints a line with this text, the process ids are printed as JSON
    other: (optional) a command line that is started with the client and waited for
    after: (optional) a command line to run when all these have ended
    calls: (optional) number of calls seen by ready.c after which the server is ready
    gate: (optional) from this connection of the client on, each waits for the server's next listen (ready.c)
    endless: (optional) the server does not end by itself: it is terminated when the client has ended
    after_client: (optional) seconds of processor time that the server may use once the client has succeeded; SIGXCPU
Standard output, at the end: {"server": {"status": n, "output": text}, "client": {...}, ...}.
The client starts when the server listens. If one of the two fails, the other one is terminated, since it
might wait for it over TCP forever. With `announce` it is not: then the test checks how it ends.
"""
import json
import math
import os
import resource
import select
import subprocess
import sys
import tempfile


def start(command, **options):
    output = tempfile.TemporaryFile("w+")
    streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT, **options}
    process = subprocess.Popen(command, text=True, **streams)
    process.output = output
    return process


def preloaded(job, **more):
    preload = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), job["ready"]]))
    return dict(os.environ, LD_PRELOAD=preload, **more)


def start_server(job):
    """Returns when the server listens or has ended, with the pipe for its later reports."""
    ready_in, ready_out = os.pipe()
    environment = preloaded(job, HCASIM_READY_FD=str(ready_out), HCASIM_READY_CALLS=str(job.get("calls", 1)))
    if "gate" in job:
        environment["HCASIM_READY_GATE"] = "1"
    server = start(job["server"], env=environment, pass_fds=[ready_out])
    os.close(ready_out)
    os.read(ready_in, 1)
    return server, ready_in


def start_client(job, server, ready_in):
    command, announce = job["client"], job.get("announce")
    if "gate" in job:
        environment = preloaded(job, HCASIM_GATE_FD=str(ready_in), HCASIM_GATE_CALL=str(job["gate"]))
        return start(command, env=environment, pass_fds=[ready_in])
    if announce is None:
        return start(command)
    client = start(command, stdout=subprocess.PIPE)
    for line in client.stdout:
        client.output.write(line)
        if announce in line:
            break
    print(json.dumps({"server": server.pid, "client": client.pid}), flush=True)
    return client


def limit(process, seconds):
    """It ends by SIGXCPU after this much processor time from now on, however busy the host is."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        used = sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    end = math.ceil(used) + seconds
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))


def wait_both(processes, end_others, after_client=None):
    running = {os.pidfd_open(process.pid): process for process in processes}
    while running:
        for ended in select.select(running, [], [])[0]:
            process = running.pop(ended)
            status = process.wait()
            os.close(ended)
            if after_client and running and not status and process is processes[1]:
                limit(processes[0], after_client)
            for other in running.values() if status and end_others else []:
                other.terminate()


def result(process):
    if process.stdout:
        process.output.write(process.stdout.read())
    status = process.wait()
    process.output.seek(0)  # the offset is shared with the process that wrote
    return {"status": status, "output": process.output.read()}


def main():
    job = json.loads(sys.argv[1])
    server, ready_in = start_server(job)
    other = start(job["other"]) if "other" in job else None
    client = start_client(job, server, ready_in)
    os.close(ready_in)
    if "endless" in job:
        client.wait()
        server.terminate()
    else:
        wait_both([server, client], "announce" not in job, job.get("after_client"))
    ends = {"server": result(server), "client": result(client)}
    if other:
        ends["other"] = result(other)
    if "after" in job:
        ends["after"] = result(start(job["after"]))
    print(json.dumps(ends), flush=True)


if __name__ == "__main__":
    main()
