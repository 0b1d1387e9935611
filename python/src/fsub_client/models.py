"""The daemon's answers. Written by tools/models.py from its OpenAPI document: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, List, Mapping, Optional

from ._explained import Explained
from ._model import Model, each, many, span, when


@dataclass(frozen=True)
class ArrayPart(Model):
    """ArrayPart says which task of which array a job is, and what that was when it was submitted."""

    array_job_id: int = 0
    array_task_id: int = 0
    count: int = 0
    max: int = 0
    min: int = 0
    step: int = 0
    # Slurm's commands call it by the array's own number
    last: bool = False
    # tasks that may run at once
    limit: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ArrayWhole(Model):
    """ArrayWhole is an array as it was submitted. What is left of it is in the spec."""

    count: int = 0
    max: int = 0
    min: int = 0
    step: int = 0
    # Cancelled are tasks that were cancelled by name while they waited. They have no record among the job's tasks.
    cancelled: Optional[List[CancelledTasks]] = None
    # tasks that may run at once, over all sites together
    limit: int = 0
    # its tasks are bound to sites one by one
    spread: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Attempt(Model):
    """Attempt is one submission of a job to one site."""

    # of all its runs (US dollars, to the millionth)
    cost_usd: float = 0.0
    # the intent was written
    created_time: Optional[datetime] = None
    decision: Optional[DecisionDecision] = None
    exit_status: int = 0
    job_id: int = 0
    # what names it at the site
    key: str = ""
    # from 1
    number: int = 0
    partition: str = ""
    site: str = ""
    state: str = ""
    # how often it was sent to the site
    tries: int = 0
    # that pays for it
    account: str = ""
    # the site's acknowledgement reached the daemon
    acknowledged_time: Optional[datetime] = None
    end_time: Optional[datetime] = None
    # user, node, site, capacity or preemption
    failure_class: str = ""
    # what of that class: see docs/health.md
    failure_code: str = ""
    # how the job ended at the site
    final_state: str = ""
    heartbeat: Optional[HeartbeatRecord] = None
    idle: Optional[IdleRecord] = None
    kept: Optional[StoredKept] = None
    # nodes that it has lost without its end (--on-node-loss)
    losses: Optional[List[StoredNodeLoss]] = None
    moved: Optional[DecisionMoved] = None
    nodes: str = ""
    # why it was refused, withdrawn or forgotten
    note: str = ""
    # requeues by the site itself
    restarts: int = 0
    # those before the last one, which the site has ended to queue the job again
    runs: Optional[List[StoredRun]] = None
    # that the site runs it under, if that is another one
    site_account: str = ""
    site_job_id: int = 0
    site_submit_time: Optional[datetime] = None
    # by the site's clock, as all below
    start_time: Optional[datetime] = None
    # why its run is not moved from a node that is drained with move
    stays: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Caller(Model):
    """Caller is who the daemon takes the sender of a request for."""

    # how that is known: socket, TLS (a job's token), or "token NAME"
    from_: str = ""
    # None, Operator, Administrator
    role: str = ""
    uid: int = 0
    user: str = ""
    # of the token
    expires: Optional[datetime] = None
    # Scope of the token; "" if there is none.
    scope: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class CancelledTasks(Model):
    """CancelledTasks are tasks of an array that were cancelled while they waited, by the same user."""

    # of the last of them
    end: Optional[datetime] = None
    # as an array is written: "0-99,200"
    tasks: str = ""
    # somebody asked for it; else they could never have started
    cancel: bool = False
    # who
    cancel_by: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class CodesNote(Model):
    """CodesNote of the daemon's answers."""

    code: str = ""
    args: Optional[List[str]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class CodesWhy(Model):
    """CodesWhy of the daemon's answers."""

    args: Optional[List[str]] = None
    code: str = ""
    notes: Optional[List[CodesNote]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Condition(Model):
    """Condition is something that is wrong with a site."""

    # what it means, and what to do
    advice: str = ""
    name: str = ""
    since: Optional[datetime] = None
    # what the site said, or what was seen
    detail: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionDecision(Model):
    """DecisionDecision of the daemon's answers."""

    job: int = 0
    bind: bool = False
    claim: int = 0
    early: bool = False
    expected: Optional[DecisionExpected] = None
    offers: Optional[List[DecisionOffer]] = None
    pack: Optional[DecisionPack] = None
    place: Optional[DecisionPlace] = None
    preempt: Optional[DecisionPreemption] = None
    reason: str = ""
    rejections: Optional[List[DecisionRejection]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionExpected(Model):
    """DecisionExpected of the daemon's answers."""

    of: str = ""
    # nanoseconds
    p50: Optional[timedelta] = None
    # nanoseconds
    p90: Optional[timedelta] = None
    runs: int = 0
    cut: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionForeseen(Model):
    """DecisionForeseen of the daemon's answers."""

    of: str = ""
    # nanoseconds
    p50: Optional[timedelta] = None
    # nanoseconds
    p90: Optional[timedelta] = None
    starts: int = 0
    unsure: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionHoldback(Model):
    """DecisionHoldback of the daemon's answers."""

    kind: str = ""
    text: str = ""
    details: Optional[List[str]] = None
    free: Optional[List[str]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionKeptOff(Model):
    """DecisionKeptOff of the daemon's answers."""

    nodes: int = 0
    part: str = ""
    site: str = ""
    needed: bool = False
    until: Optional[datetime] = None
    why: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionMoved(Model):
    """DecisionMoved of the daemon's answers."""

    at: Optional[datetime] = None
    costs: Optional[List[DecisionTerm]] = None
    count: int = 0
    from_: str = ""
    kind: str = ""
    run: Optional[datetime] = None
    saves: Optional[List[DecisionTerm]] = None
    why: str = ""
    for_: int = 0
    stay: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionOffer(Model):
    """DecisionOffer of the daemon's answers."""

    gpus: int = 0
    nodes: int = 0
    partition: str = ""
    pool: str = ""
    # nanoseconds
    run: Optional[timedelta] = None
    site: str = ""
    start: Optional[datetime] = None
    terms: Optional[List[DecisionTerm]] = None
    total: float = 0.0
    # nanoseconds
    wait: Optional[timedelta] = None
    as_: str = ""
    foreseen: Optional[DecisionForeseen] = None
    gpu_type: str = ""
    kept_off: Optional[List[DecisionKeptOff]] = None
    market: str = ""
    max_nodes: int = 0
    most: float = 0.0
    offering: str = ""
    paid: Optional[DecisionPaid] = None
    parts: Optional[List[DecisionOffer]] = None
    # US dollars, to the millionth
    per_hour: float = 0.0
    until: Optional[datetime] = None
    zone: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionPack(Model):
    """DecisionPack of the daemon's answers."""

    job: int = 0
    key: str = ""
    side: int = 0
    tasks: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionPaid(Model):
    """DecisionPaid of the daemon's answers."""

    most: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionPlace(Model):
    """DecisionPlace of the daemon's answers."""

    end: Optional[datetime] = None
    nodes: str = ""
    reservation: str = ""
    site: str = ""
    start: Optional[datetime] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionPreemption(Model):
    """DecisionPreemption of the daemon's answers."""

    at: Optional[datetime] = None
    qos: str = ""
    victims: Optional[List[DecisionVictim]] = None
    by: str = ""
    guarantee: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionPriorityPart(Model):
    """DecisionPriorityPart of the daemon's answers."""

    name: str = ""
    points: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionRejection(Model):
    """DecisionRejection of the daemon's answers."""

    reason: str = ""
    site: str = ""
    detail: str = ""
    never: bool = False
    partition: str = ""
    pool: str = ""
    why: Optional[CodesWhy] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionSooner(Model):
    """DecisionSooner of the daemon's answers."""

    change: str = ""
    pool: str = ""
    price: float = 0.0
    site: str = ""
    start: Optional[datetime] = None
    total: float = 0.0
    # nanoseconds
    wait: Optional[timedelta] = None
    more: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionStart(Model):
    """DecisionStart of the daemon's answers."""

    of: str = ""
    price: float = 0.0
    site: str = ""
    start: Optional[datetime] = None
    total: float = 0.0
    unsure: str = ""
    within: Optional[datetime] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionTerm(Model):
    """DecisionTerm of the daemon's answers."""

    amount: float = 0.0
    name: str = ""
    detail: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionVictim(Model):
    """DecisionVictim of the daemon's answers."""

    job: int = 0
    # nanoseconds
    lost: Optional[timedelta] = None
    qos: str = ""
    restarts: int = 0
    # nanoseconds
    grace: Optional[timedelta] = None
    mode: str = ""
    moved: Optional[DecisionMoved] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DecisionWait(Model):
    """DecisionWait of the daemon's answers."""

    reason: str = ""
    why: Optional[CodesWhy] = None
    advice: Optional[List[CodesWhy]] = None
    since: Optional[datetime] = None
    text: str = ""
    until: Optional[datetime] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Error(Model):
    """Error is why something was refused. Text is Slurm's sentence where Slurm has one: what follows "Batch job
    submission failed: ". Every answer with an HTTP status of 400 and above has this shape under "error"."""

    text: str = ""
    # Text is not to be put after "Batch job submission failed: "
    alone: bool = False
    # what to look at, for people: one line
    detail: str = ""
    # Lines are the lines of a batch that are refused, the first of them; Detail tells of the first.
    lines: Optional[List[LineError]] = None
    # Slurm's error number
    number: int = 0
    # what slurmctld says to the user before the sentence; one line or several
    said: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Event(Model):
    """Event is one thing that happened: a step of a job's life, a request of a user, or what an operator said
    of a site. GET /fed/v1/events answers with one in each line, in the order of the store's commits. Of the
    query, after is the Mark to go on from; without it since (seconds since 1970) is the time to begin at, and
    without either only what comes is told. With follow=1 the answer does not end. Between the events are
    [EventsMark]s. A mark that the log no longer has is refused with status 410: what came after it is not all
    known."""

    # Event is submit, bind, start, suspend, resume, requeue, invalid-depend (what it depends on can never be met) or
    # end of a job; request; active, inactive, drain, drain+remove, removed, lost, maintenance or maintenance-removed
    # of a site; group-invalid-depend (jobs of a group can never start, told once beside the invalid-depend of each:
    # Detail says how many, User whose) of a group; site, a condition of it that has begun or ended; node-drain or
    # node-resume, an operator's word about a node; node, another state that its site shows; or health, what a rule of
    # health says.
    event: str = ""
    # when it was written
    time: Optional[datetime] = None
    # of a job or task that is of an array
    array_job_id: int = 0
    # its index in that
    array_task_id: Optional[int] = None
    # or of several of its tasks: "3-9,12"
    array_tasks: str = ""
    # why a node or a site is in that state
    detail: str = ""
    # of end, as wait(2) gives it
    exit_status: Optional[int] = None
    # before this, where it is known
    from_: str = ""
    # of the job; "": it is in none
    group: str = ""
    job_id: int = 0
    # of the job
    name: str = ""
    # of the site
    node: str = ""
    # why it waits, or has ended so
    reason: str = ""
    # cancel, hold, release ...: see the paths below /fed/v1/jobs
    request: str = ""
    # where the job is or was; the site itself
    site: str = ""
    # of the job, task, node or site, after this
    state: str = ""
    # the job's owner; "" where the job has been deleted since. Of a node: who did it
    user: str = ""
    # asked for it, or said it; of a node, whom its site names
    who: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Explanation(Explained):
    """Explanation is why a job is where it is: what placement said when it was bound, or says now if it waits."""

    decision: Optional[DecisionDecision] = None
    job: Optional[Job] = None
    now: Optional[datetime] = None
    chosen: Optional[DecisionOffer] = None
    # Components are what placement says of each component of a heterogeneous job that waits, if it were a job of its
    # own. Those start together.
    components: Optional[List[DecisionDecision]] = None
    heartbeat: Optional[HeartbeatRecord] = None
    # Holdbacks are what of the account tree keeps a waiting job back.
    holdbacks: Optional[List[DecisionHoldback]] = None
    idle: Optional[IdleRecord] = None
    # KeptOff are the switches and blocks that a waiting job of several nodes is kept off, since failures of such jobs
    # were laid to them.
    kept_off: Optional[List[DecisionKeptOff]] = None
    moved: Optional[DecisionMoved] = None
    # PathSeconds is how long the longest path of its workflow is expected to take from a waiting job on, the job
    # included, where that matters to the job's place in the queue.
    path_seconds: int = 0
    # Priority is what a waiting job's place in the queue is made of.
    priority: Optional[List[DecisionPriorityPart]] = None
    # Sooner is what would have a waiting job start sooner.
    sooner: Optional[List[DecisionSooner]] = None
    spending: Optional[SpendingSpending] = None
    start: Optional[DecisionStart] = None
    # why the running job is not moved from a node that is drained with move
    stays: str = ""
    # Waits are what keeps a job from being sent to a site, whatever is free: the most important first. A job that has
    # any does not wait for nodes.
    waits: Optional[List[DecisionWait]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class FreeGPUs(Model):
    """FreeGPUs is how whole the free GPUs of one type are at a site."""

    # what is right above these, likewise
    blocks: int = 0
    # Fragmented is the share of the free ones that jobs of the sizes asked for lately cannot take: 0 to 1.
    fragmented: float = 0.0
    # on nodes that take jobs
    free: int = 0
    # leaves with such GPUs; 0: the site tells of none
    leaves: int = 0
    # on what is right above leaves, likewise
    on_blocks: int = 0
    # on leaves of which all nodes that take jobs are free
    on_leaves: int = 0
    # of these, on nodes that are free as a whole
    on_nodes: int = 0
    # "gpu": the site tells none
    type: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class HeartbeatLate(Model):
    """HeartbeatLate of the daemon's answers."""

    late: int = 0
    node: str = ""
    rank: int = 0
    since: Optional[datetime] = None
    times: float = 0.0
    fine: Optional[datetime] = None
    job: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class HeartbeatRecord(Model):
    """HeartbeatRecord of the daemon's answers."""

    run: Optional[datetime] = None
    silent: Optional[HeartbeatSilence] = None
    slow: Optional[List[HeartbeatLate]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class HeartbeatSilence(Model):
    """HeartbeatSilence of the daemon's answers."""

    since: Optional[datetime] = None
    told: Optional[datetime] = None
    behind: Optional[List[str]] = None
    never: bool = False
    over: Optional[datetime] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class HetComponent(Model):
    """HetComponent says which component of which heterogeneous job a job is."""

    leader_job_id: int = 0
    # from 1
    offset: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class HistoryEntry(Model):
    """HistoryEntry is one line of a job's history."""

    job_id: int = 0
    text: str = ""
    time: Optional[datetime] = None
    # 0: about the job as a whole
    attempt: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Holder(Model):
    """Holder says who holds a job."""

    time: Optional[datetime] = None
    # a user's name; missing: the daemon
    by: str = ""
    why: Optional[CodesWhy] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class IdleRecord(Model):
    """IdleRecord of the daemon's answers."""

    run: Optional[datetime] = None
    since: Optional[datetime] = None
    what: str = ""
    act: str = ""
    asked: bool = False
    busy: Optional[datetime] = None
    ended: Optional[datetime] = None
    lead: Optional[datetime] = None
    told: Optional[datetime] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Job(Model):
    """Job is what a user asked for, and what became of it."""

    # US dollars, to the millionth
    cost_usd: float = 0.0
    # as wait(2) gives it: exit code << 8 | signal
    exit_status: int = 0
    group_id: int = 0
    job_id: int = 0
    # set by an operator; 0: none was, and minus the spec's nice counts
    priority: int = 0
    spec: Optional[Mapping[str, Any]] = None
    state: str = ""
    submit_time: Optional[datetime] = None
    # its owner's name on the daemon's machine
    user: str = ""
    user_id: int = 0
    # at its site
    account: str = ""
    array: Optional[ArrayWhole] = None
    array_part: Optional[ArrayPart] = None
    # number of the newest attempt, from 1
    attempt: int = 0
    # a cancellation was accepted
    cancel: bool = False
    cancel_user_id: int = 0
    component: Optional[HetComponent] = None
    end_time: Optional[datetime] = None
    # The group that the job was put into; see --group.
    group: str = ""
    # by whom: user, admin or special
    held: str = ""
    holder: Optional[Holder] = None
    # hostlist
    nodes: str = ""
    partition: str = ""
    # why it is PENDING, or why it ended badly
    reason: str = ""
    restarts: int = 0
    # where that is or was
    site: str = ""
    # of the newest attempt
    start_time: Optional[datetime] = None
    submit_host: str = ""
    suspension: Optional[StoredSuspension] = None
    # what scontrol top has added to that. Higher ones come first; ties go to the lower ID
    top: int = 0
    # The account of the federation's tree that it was submitted under, whose coordinators may act on it.
    tree_account: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class JobCount(Model):
    """JobCount is how many jobs have what is told apart in common. What is not told apart is missing."""

    # lines of GET /fed/v1/jobs
    jobs: int = 0
    # that these stand for; a job without tasks is one
    tasks: int = 0
    account: str = ""
    # none: they are in no group
    group: str = ""
    reason: str = ""
    # none: they wait in the federation's queue
    site: str = ""
    state: str = ""
    user: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class JobLine(Model):
    """JobLine is a job as lists show it. Of an array one line tells of the tasks that wait, and each other task
    has a line of its own."""

    # of its runs that have ended (US dollars, to the millionth)
    cost_usd: float = 0.0
    job_id: int = 0
    name: str = ""
    state: str = ""
    submit: Optional[datetime] = None
    user: str = ""
    account: str = ""
    # it is a task of, or the rest of
    array_job_id: int = 0
    # its index, or those that wait: "3-7"
    array_tasks: str = ""
    end: Optional[datetime] = None
    group: str = ""
    nodes: str = ""
    partition: str = ""
    reason: str = ""
    restarts: int = 0
    # none: it waits in the federation's queue
    site: str = ""
    spending: Optional[SpendingSpending] = None
    start: Optional[datetime] = None
    # TreeAccount is the account of the federation's tree that it was submitted under, whose coordinators may act on
    # it.
    tree_account: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class JobRecord(Model):
    """JobRecord is all that the daemon has written down of one job."""

    job: Optional[Job] = None
    # in order
    attempts: Optional[List[Attempt]] = None
    # in order
    events: Optional[List[HistoryEntry]] = None
    spending: Optional[SpendingSpending] = None
    # of an array, in order of their index
    tasks: Optional[List[Task]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class LineError(Model):
    """LineError is why one line of a batch is refused."""

    # from 1
    line: int = 0
    text: str = ""
    detail: str = ""
    # of the entry
    name: str = ""
    # as of an Error, as Text and Detail are
    number: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Log(Model):
    """Log says where a job's output is. Paths: GET /fed/v1/job/{id}/log?stream=stdout|stderr&task=INDEX, for
    the owner and operators; and .../log/text?...&offset=BYTES, which is the output itself where Staged is set,
    with LogHeader."""

    ended: bool = False
    # on the machine of the user's files
    file: str = ""
    # of the job, or of the task
    state: str = ""
    attempt: int = 0
    reason: str = ""
    site: str = ""
    # Staged: the site does not see the job's directory. The output comes through the daemon until it is in File, and
    # for some time after.
    staged: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Site(Model):
    """Site is one member of the federation for people and programs."""

    answering: bool = False
    # jobs of ours that wait there
    bound: int = 0
    # what is wrong with it, the worst first
    conditions: Optional[List[Condition]] = None
    gpus: int = 0
    gpus_free: int = 0
    # Interactive: users get inside their jobs there: fed attach, srun, salloc.
    interactive: bool = False
    name: str = ""
    # of a rented pool as many as it may have, whatever there is to choose from
    nodes: int = 0
    nodes_idle: int = 0
    # jobs of ours
    running: int = 0
    state: str = ""
    # CallsPerSecond is how often the daemon may call the site at the most, and CallsUsed how much of that is used
    # now: 0 to 1.
    calls_per_second: float = 0.0
    calls_used: float = 0.0
    cluster: str = ""
    # why it does not answer, and what to do
    error: str = ""
    error_since: Optional[datetime] = None
    # how whole the free GPUs are, by type; none: that is not known
    fragments: Optional[List[FreeGPUs]] = None
    gpus_idle_held: int = 0
    # JobsIdleHeld are jobs that run and leave idle what they hold, by the rule of health idle-held, and GPUsIdleHeld
    # the GPUs that they hold.
    jobs_idle_held: int = 0
    # when an operator said that it is gone
    lost: Optional[datetime] = None
    mode: str = ""
    # while it does not answer: when it is asked again
    next_try: Optional[datetime] = None
    # time of the last good look
    seen: Optional[datetime] = None
    state_reason: str = ""
    version: str = ""
    warnings: Optional[List[str]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class SpendingSpending(Model):
    """SpendingSpending of the daemon's answers."""

    # US dollars, to the millionth
    per_hour_usd: float = 0.0
    # US dollars, to the millionth
    so_far_usd: float = 0.0
    # US dollars, to the millionth
    at_most_usd: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StoredKept(Model):
    """StoredKept of the daemon's answers."""

    at: Optional[datetime] = None
    bytes: int = 0
    place: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StoredNodeLoss(Model):
    """StoredNodeLoss of the daemon's answers."""

    node: str = ""
    time: Optional[datetime] = None
    by: str = ""
    shrunk: bool = False
    why: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StoredRun(Model):
    """StoredRun of the daemon's answers."""

    ended: Optional[datetime] = None
    nodes: str = ""
    started: Optional[datetime] = None
    state: str = ""
    # US dollars, to the millionth
    cost: float = 0.0
    exit: int = 0
    suspension: Optional[StoredSuspension] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StoredSuspension(Model):
    """StoredSuspension of the daemon's answers."""

    at: Optional[datetime] = None
    # nanoseconds
    ran: Optional[timedelta] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class SubmitResponse(Model):
    """SubmitResponse is the answer to a submission. If JobID is not 0 the job is durable, whatever else is
    said."""

    # Array is which tasks a call asked for, as it was written: "0-9%3". "": none.
    array: str = ""
    # Cluster is the site that --clusters has chosen: what "Submitted batch job N on cluster C" says. "" without that
    # option.
    cluster: str = ""
    decision: Optional[DecisionDecision] = None
    error: Optional[Error] = None
    # Explanation is the answer to Explain, what fed explain would say of the job: lines for people.
    explanation: str = ""
    job_id: int = 0
    # Mark is a mark of the log of changes from before the job: GET /fed/v1/events?after=MARK misses nothing of it. It
    # is missing where the job had been submitted before, under the same key, and while the daemon has not read its
    # queue: read the job then.
    mark: int = 0
    # Message is the answer to TestOnly, and JobID is 0 then: "Job N to start at ..." with the time in the daemon's
    # zone.
    message: str = ""
    # Note is one sentence for people about a job that was accepted: that no mail will come of it.
    note: str = ""
    # Place is what Message does not tell: the site, what the job would come to there, and how long it would wait.
    place: str = ""
    start: Optional[DecisionStart] = None
    # Warnings are sentences that the command prints as errors, although it goes on: clusters that nobody knows.
    warnings: Optional[List[str]] = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Task(Model):
    """Task is one task of an array that has started or ended, or that was cancelled before it started."""

    array_task_id: int = 0
    # US dollars, to the millionth
    cost_usd: float = 0.0
    exit_status: int = 0
    # the array's
    job_id: int = 0
    state: str = ""
    # while it waited
    cancel: bool = False
    # of who asked for that
    cancel_user_id: int = 0
    end_time: Optional[datetime] = None
    nodes: str = ""
    reason: str = ""
    restarts: int = 0
    # the site's own number of it
    site_job_id: int = 0
    start_time: Optional[datetime] = None
    # of the job that it has become
    task_job_id: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


ArrayWhole._readers = {"cancelled": many(CancelledTasks.from_json)}
Attempt._readers = {"created_time": when, "decision": DecisionDecision.from_json, "acknowledged_time": when, "end_time": when, "heartbeat": HeartbeatRecord.from_json, "idle": IdleRecord.from_json, "kept": StoredKept.from_json, "losses": many(StoredNodeLoss.from_json), "moved": DecisionMoved.from_json, "runs": many(StoredRun.from_json), "site_submit_time": when, "start_time": when}
Caller._readers = {"expires": when}
Caller._names = {"from": "from_"}
CancelledTasks._readers = {"end": when}
CodesWhy._readers = {"notes": many(CodesNote.from_json)}
Condition._readers = {"since": when}
DecisionDecision._readers = {"expected": DecisionExpected.from_json, "offers": many(DecisionOffer.from_json), "pack": DecisionPack.from_json, "place": DecisionPlace.from_json, "preempt": DecisionPreemption.from_json, "rejections": many(DecisionRejection.from_json)}
DecisionExpected._readers = {"p50": span, "p90": span}
DecisionForeseen._readers = {"p50": span, "p90": span}
DecisionKeptOff._readers = {"until": when}
DecisionMoved._readers = {"at": when, "costs": many(DecisionTerm.from_json), "run": when, "saves": many(DecisionTerm.from_json)}
DecisionMoved._names = {"from": "from_", "for": "for_"}
DecisionOffer._readers = {"run": span, "start": when, "terms": many(DecisionTerm.from_json), "wait": span, "foreseen": DecisionForeseen.from_json, "kept_off": many(DecisionKeptOff.from_json), "paid": DecisionPaid.from_json, "parts": many(DecisionOffer.from_json), "until": when}
DecisionOffer._names = {"as": "as_"}
DecisionPlace._readers = {"end": when, "start": when}
DecisionPreemption._readers = {"at": when, "victims": many(DecisionVictim.from_json)}
DecisionRejection._readers = {"why": CodesWhy.from_json}
DecisionSooner._readers = {"start": when, "wait": span}
DecisionStart._readers = {"start": when, "within": when}
DecisionVictim._readers = {"lost": span, "grace": span, "moved": DecisionMoved.from_json}
DecisionWait._readers = {"why": CodesWhy.from_json, "advice": many(CodesWhy.from_json), "since": when, "until": when}
Error._readers = {"lines": many(LineError.from_json)}
Event._readers = {"time": when}
Event._names = {"from": "from_"}
Explanation._readers = {"decision": DecisionDecision.from_json, "job": Job.from_json, "now": when, "chosen": DecisionOffer.from_json, "components": many(DecisionDecision.from_json), "heartbeat": HeartbeatRecord.from_json, "holdbacks": many(DecisionHoldback.from_json), "idle": IdleRecord.from_json, "kept_off": many(DecisionKeptOff.from_json), "moved": DecisionMoved.from_json, "priority": many(DecisionPriorityPart.from_json), "sooner": many(DecisionSooner.from_json), "spending": SpendingSpending.from_json, "start": DecisionStart.from_json, "waits": many(DecisionWait.from_json)}
HeartbeatLate._readers = {"since": when, "fine": when}
HeartbeatRecord._readers = {"run": when, "silent": HeartbeatSilence.from_json, "slow": many(HeartbeatLate.from_json)}
HeartbeatSilence._readers = {"since": when, "told": when, "over": when}
HistoryEntry._readers = {"time": when}
Holder._readers = {"time": when, "why": CodesWhy.from_json}
IdleRecord._readers = {"run": when, "since": when, "busy": when, "ended": when, "lead": when, "told": when}
Job._readers = {"submit_time": when, "array": ArrayWhole.from_json, "array_part": ArrayPart.from_json, "component": HetComponent.from_json, "end_time": when, "holder": Holder.from_json, "start_time": when, "suspension": StoredSuspension.from_json}
JobLine._readers = {"submit": when, "end": when, "spending": SpendingSpending.from_json, "start": when}
JobRecord._readers = {"job": Job.from_json, "attempts": many(Attempt.from_json), "events": many(HistoryEntry.from_json), "spending": SpendingSpending.from_json, "tasks": many(Task.from_json)}
Site._readers = {"conditions": many(Condition.from_json), "error_since": when, "fragments": many(FreeGPUs.from_json), "lost": when, "next_try": when, "seen": when}
StoredKept._readers = {"at": when}
StoredNodeLoss._readers = {"time": when}
StoredRun._readers = {"ended": when, "started": when, "suspension": StoredSuspension.from_json}
StoredSuspension._readers = {"at": when, "ran": span}
SubmitResponse._readers = {"decision": DecisionDecision.from_json, "error": Error.from_json, "start": DecisionStart.from_json}
Task._readers = {"end_time": when, "start_time": when}
