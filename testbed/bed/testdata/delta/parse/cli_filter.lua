function slurm_cli_setup_defaults(options, early)
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
