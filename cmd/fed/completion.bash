# Completion of fsub and Slurm's commands for bash: source <(fed completion slurm)
# Options are those that each command's own help lists. Words come from the daemon, within a fifth of a second or not at all.

_fsub_ask() { timeout 0.2 "$@" 2>/dev/null; }

_fsub_slurm() {
    local command=${COMP_WORDS[0]##*/} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
    if [[ $cur == "=" ]]; then cur=
    elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    [[ ${COMP_WORDS[COMP_CWORD]} == "=" ]] && prev=${COMP_WORDS[COMP_CWORD-1]}
    local list=
    [[ $cur == *,* ]] && list=${cur%,*},
    case $command:$prev in
    scancel:-n | scancel:--name | squeue:-n | squeue:--name) words=$(_fsub_ask squeue -h -o %j) ;;
    sbatch:-n | fsub:-n | sbatch:-N | fsub:-N) return ;;
    sacct:-N | sinfo:-n | *:-w | *:--nodelist | *:--nodes | *:-x | *:--exclude) words=$(_fsub_ask sinfo -h -N -o %N) ;;
    sacct:-r | *:-p | *:--partition) words=$(_fsub_ask sinfo -h -o %R) ;;
    *:-A | *:--account | *:--accounts) words=$(_fsub_ask sacctmgr -n -P show associations user="$USER" format=account) ;;
    *:-q | *:--qos) words=$(_fsub_ask sacctmgr -n -P show qos format=name) ;;
    *:-M | *:--clusters | *:--fed-sites | *:--fed-exclude-sites) words=$(_fsub_ask sacctmgr -n -P show cluster format=cluster) ;;
    *:-u | *:--user | *:--users) words=$(_fsub_ask squeue -h -o %u) ;;
    *:-j | *:--job | *:--jobs | *:--jobid) words=$(_fsub_ask squeue -h -o %A) ;;
    *:-t | *:--state | *:--states) words="PENDING RUNNING SUSPENDED COMPLETING COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL PREEMPTED" ;;
    esac
    if [[ -z $words ]]; then
        case $command:$cur in
        *:-*) words=$(_fsub_ask "$command" --help | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u) ;;
        scancel:*) words=$(_fsub_ask squeue -h -u "$USER" -o %A) ;;
        scontrol:*)
            case $prev in
            scontrol) words="show hold release requeue update cancel_reservation listpids suspend resume top wait_job write" ;;
            show) words="job node partition reservation config steps federation" ;;
            job | hold | release | requeue | suspend | resume | top) words=$(_fsub_ask squeue -h -o %A) ;;
            node) words=$(_fsub_ask sinfo -h -N -o %N) ;;
            partition) words=$(_fsub_ask sinfo -h -o %R) ;;
            esac ;;
        esac
    fi
    [[ -z $words ]] && return
    mapfile -t COMPREPLY < <(compgen -P "$list" -W "$words" -- "${cur#"$list"}")
}

complete -o default -F _fsub_slurm fsub sbatch squeue scancel sinfo sacct scontrol
