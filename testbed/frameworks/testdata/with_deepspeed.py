import os
import socket

if "OMPI_COMM_WORLD_RANK" not in os.environ:
    for name, slurm in (("RANK", "SLURM_PROCID"), ("WORLD_SIZE", "SLURM_NTASKS"), ("LOCAL_RANK", "SLURM_LOCALID")):
        os.environ.setdefault(name, os.environ[slurm])  # its launcher for Slurm leaves that to the script

import deepspeed
import torch
from deepspeed import comm as dist

deepspeed.init_distributed(dist_backend="gloo")
total = torch.ones(1) * (dist.get_rank() + 1)
torch.distributed.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()} on {socket.gethostname()}: sum {int(total.item())}", flush=True)
