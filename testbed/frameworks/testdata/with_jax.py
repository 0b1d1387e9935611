import jax

jax.distributed.initialize()  # finds everything in Slurm's variables

import socket
import jax.numpy as jnp

mine = jnp.ones(jax.local_device_count()) * (jax.process_index() + 1)
total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(mine)
print(f"rank {jax.process_index()} of {jax.process_count()} on {socket.gethostname()}: sum {int(total[0])}", flush=True)
