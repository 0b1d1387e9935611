from packaging.version import Version
from psij.descriptor import Descriptor

__PSI_J_EXECUTORS__ = [Descriptor(name="fsub", nice_name="fsub", version=Version("0.5.0"), cls="psij_fsub.executor.FsubJobExecutor")]
