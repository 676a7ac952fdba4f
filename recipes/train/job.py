"""A small distributed job: sums over all GPUs, again and again, so that the network shows itself.

With torch and CUDA it runs under Ray Train, one worker a GPU, and all-reduces a tensor over NCCL.
Without them it runs plain Ray tasks, one a GPU that Ray counts, and says that NCCL was not there.
Its settings come in RTL_JOB (JSON); its last line is `RTL-RESULT {json}`.
"""
import json
import os
import shutil
import socket
import sys
import time

import ray

CONFIG = json.loads(os.environ.get("RTL_JOB", "{}"))
STEPS = CONFIG.get("steps", 5)
MIB = CONFIG.get("mib", 64)
FOLDER = CONFIG.get("dir")
WATCHED = ("NCCL_", "FI_", "OFI_", "TORCH_NCCL_")


def prepare(rank):
    """Makes the folder of NCCL's files and notes this process' own environment in it."""
    if not FOLDER:
        return
    os.makedirs(FOLDER, exist_ok=True)
    note = {
        "rank": rank, "host": socket.gethostname(), "pid": os.getpid(),
        "env": {k: v for k, v in sorted(os.environ.items()) if k.startswith(WATCHED)},
    }
    part = os.path.join(FOLDER, "rank-%d.json" % rank)
    with open(part + ".new", "w") as f:
        json.dump(note, f)
    os.rename(part + ".new", part)


def gpus():
    return int(ray.cluster_resources().get("GPU", 0))


def world():
    return CONFIG.get("workers") or gpus() or 1


def has_cuda_cluster():
    """Whether the workers can run torch over CUDA; asked on a GPU, since the head has none."""
    if gpus() == 0:
        return False

    @ray.remote(num_gpus=1, num_cpus=1)
    def look():
        try:
            import torch
        except ImportError:
            return False
        return torch.cuda.is_available()

    return ray.get(look.remote())


def make_folders():
    """Makes the folder of NCCL's files on every node: NCCL opens its file before any of our code.

    What another job of the same id left there goes first: it would be judged as this one's.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote(num_cpus=0)
    def make():
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER, exist_ok=True)

    nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"]]
    ray.get([make.options(scheduling_strategy=NodeAffinitySchedulingStrategy(n, soft=False)).remote()
             for n in nodes])


@ray.remote(num_cpus=0)
class Board:
    """What rank 0 has to say at the end. (Ray Train keeps metrics only beside checkpoints.)"""

    def __init__(self):
        self.said = {}

    def say(self, what):
        self.said = what

    def read(self):
        return self.said


def train_loop(config):
    """One Ray Train worker: all-reduce, checked, timed."""
    import torch
    import torch.distributed as dist
    from ray import train

    rank, size = dist.get_rank(), dist.get_world_size()
    device = train.torch.get_device()
    numbers = torch.ones(config["mib"] * (1 << 20) // 4, device=device)
    expected = float(size)
    started = None
    for step in range(config["steps"] + 1):
        numbers.fill_(1.0)
        dist.all_reduce(numbers)
        torch.cuda.synchronize(device)
        if numbers[0].item() != expected or numbers[-1].item() != expected:
            raise RuntimeError("rank %d: a sum is %r, not %r" % (rank, numbers[0].item(), expected))
        if step == 0:
            started = time.monotonic()  # the first one also connects
        elif rank == 0:
            print("step %d of %d" % (step, config["steps"]), flush=True)
    if rank == 0:
        local = train.get_context().get_local_world_size()
        ray.get(config["board"].say.remote({
            "seconds": round(time.monotonic() - started, 3), "nodes": -(-size // local),
            "world_size": size}))


def watched_loop(config):
    """train_loop with this process' environment noted first."""
    from ray import train

    prepare(train.get_context().get_world_rank())
    train_loop(config)


def run_nccl():
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    board = Board.remote()
    trainer = TorchTrainer(
        watched_loop, train_loop_config={"steps": STEPS, "mib": MIB, "board": board},
        torch_config=TorchConfig(backend="nccl", timeout_s=300),
        scaling_config=ScalingConfig(num_workers=world(), use_gpu=True),
        run_config=RunConfig(name=CONFIG.get("id", "rtl"), storage_path="/tmp/rtl/results"),
    )
    trainer.fit()  # raises when a worker failed
    result = ray.get(board.read.remote())
    # Whatever algorithm NCCL takes, each node sends at least the tensor once a step.
    result.update(backend="nccl", bytes_per_node=(STEPS + 1) * MIB * (1 << 20))
    return result


def run_plain():
    print("torch with CUDA is not there: plain Ray tasks, and NCCL is not used", flush=True)
    resources = {"num_gpus": 1} if gpus() > 0 else {}

    @ray.remote(num_cpus=1, scheduling_strategy="SPREAD", **resources)
    class Worker:
        def __init__(self, rank):
            self.rank = rank
            prepare(rank)

        def host(self):
            return socket.gethostname()

        def add(self, value):
            return value + 1

    workers = [Worker.remote(rank) for rank in range(world())]
    hosts = sorted(set(ray.get([w.host.remote() for w in workers])))
    started = time.monotonic()
    for step in range(1, STEPS + 1):
        total = sum(ray.get([w.add.remote(0) for w in workers]))
        if total != len(workers):
            raise RuntimeError("a sum is %r, not %r" % (total, len(workers)))
        print("step %d of %d" % (step, STEPS), flush=True)
    return {"backend": "none", "seconds": round(time.monotonic() - started, 3),
            "nodes": len(hosts), "world_size": len(workers), "bytes_per_node": 0}


def main():
    ray.init(log_to_driver=True)
    if FOLDER:
        make_folders()
    result = run_nccl() if has_cuda_cluster() else run_plain()
    result.update(steps=STEPS, ok=True)
    print("RTL-RESULT " + json.dumps(result, sort_keys=True), flush=True)


if __name__ == "__main__":
    sys.exit(main())
