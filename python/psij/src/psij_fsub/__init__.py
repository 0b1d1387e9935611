"""An executor of PSI/J for fsub: JobExecutor.get_instance("fsub")."""
