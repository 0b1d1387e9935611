package bed

// ParseConf is a second slurm.conf inside each site. With SLURM_CONF=ParseConf in the environment of sbatch, salloc or srun, the command prints
// what it made of its options, directives and environment, and exits with 1 before it speaks to slurmctld: for each component of the job one line
// {"component": N, "options": {...}}, the options being those that were given anywhere, by their long names, in Slurm's normal form.
// It stops at the first component, as it knows of no others yet: FSUB_BED_COMPONENTS says how many to wait for. With FSUB_BED_COMPONENTS=0 it goes on and submits.
// It works in 22.05, 24.11 and 26.05: Debian's slurm-wlm-basic-plugins has cli_filter/lua.
const ParseConf = "/etc/slurm/" + parseDir + "/slurm.conf"

const parseDir = "parse"

const parseConf = `include /etc/slurm/slurm.conf
CliFilterPlugins=cli_filter/lua
`

const parseLua = `function slurm_cli_setup_defaults(options, early)
	return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, component)
	io.stdout:write('{"component":' .. component .. ',"options":' .. slurm.json_cli_options(options) .. '}\n')
	io.stdout:flush()
	local last = tonumber(os.getenv("FSUB_BED_COMPONENTS") or 1)
	return component + 1 == last and slurm.ERROR or slurm.SUCCESS
end

function slurm_cli_post_submit(component, job, step)
	return slurm.SUCCESS
end
`
