"""A real Slurm cluster of two nodes on this machine, of Debian's packages, under a folder."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.end_to_end.process import environment

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
_SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
_START_SECONDS = 30
# Nodes are names of this machine; the first is one that resolves, since others meet at it. A job
# that is preempted has 60 s to save; one that is queued again waits until its credential is old.
_CONF = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort={port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=2,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName={host} NodeHostname=localhost NodeAddr=127.0.0.1 Port={first} CPUs={cores} RealMemory=8000
NodeName={host}z NodeHostname=localhost NodeAddr=127.0.0.1 Port={second} CPUs={cores} \\
    RealMemory=8000
PartitionName=low Nodes={host},{host}z Default=YES PriorityTier=1 GraceTime=60
PartitionName=high Nodes={host},{host}z PriorityTier=10 PreemptMode=OFF
"""


def missing() -> str | None:
    """Return why there can be no cluster here, None where there can."""
    if os.geteuid() != 0:
        return "a Slurm cluster needs root"
    absent = [name for name in PROGRAMS if shutil.which(name, path=_SYSTEM) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The folder of a cluster that runs."""

    folder: Path

    @property
    def settings(self) -> Mapping[str, str]:
        """What the commands of Slurm need in their environment."""
        own = environment()
        return {
            **own,
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{own['PATH']}:{_SYSTEM}",
        }

    def call(self, *command: str, cwd: Path | None = None) -> str:
        """Run a command of Slurm and return what it prints."""
        done = subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=self.settings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def submit(self, *arguments: str, cwd: Path) -> str:
        """Submit a job and return its number."""
        return self.call("sbatch", "--parsable", *arguments, cwd=cwd).strip()

    def show(self, job: str) -> Mapping[str, str]:
        """Return what the controller knows of a job, such as JobState and Restarts."""
        return dict(re.findall(r"(\w+)=(\S*)", self.call("scontrol", "show", "job", "-o", job)))

    def wait_for(self, job: str, states: tuple[str, ...], seconds: float) -> Mapping[str, str]:
        """Wait until a job is in one of these states."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            shown = self.show(job)
            if shown["JobState"] in states:
                return shown
            time.sleep(0.5)
        raise AssertionError(f"job {job} is {self.show(job)['JobState']} after {seconds:.0f} s")


@contextmanager
def start_cluster(folder: Path) -> Iterator[Cluster]:
    """Run the daemons until the block ends."""
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "state").mkdir()
    first, second, port = _free_ports(3)
    text = _CONF.format(
        folder=folder,
        port=port,
        first=first,
        second=second,
        host=socket.gethostname().partition(".")[0],
        cores=os.cpu_count(),
    )
    (folder / "slurm.conf").write_text(text)
    cluster = Cluster(folder=folder)
    host = re.findall(r"^NodeName=(\S+)", text, re.MULTILINE)
    munge = [f"--{name}={folder}/munge.{end}" for name, end in _MUNGE.items()]
    commands = [
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D"],
        *(["slurmd", "-D", "-N", name] for name in host),
    ]
    daemons = []
    try:
        for command in commands:
            with (folder / "daemons.log").open("ab") as log:
                daemons.append(
                    subprocess.Popen(command, env=cluster.settings, stdout=log, stderr=log)
                )
            time.sleep(1)
        _await_nodes(cluster)
        yield cluster
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(_START_SECONDS)


_MUNGE = {
    "key-file": "key",
    "socket": "sock",
    "pid-file": "pid",
    "log-file": "log",
    "seed-file": "seed",
}


def _await_nodes(cluster: Cluster) -> None:
    """Wait until both nodes are idle."""
    for _ in range(_START_SECONDS * 2):
        idle = cluster.call("sinfo", "--noheader", "--states=idle", "--format=%D", "-p", "low")
        if idle.strip() == "2":
            return
        time.sleep(0.5)
    raise AssertionError((cluster.folder / "slurmctld.log").read_text()[-3000:])


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
