package api

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"reflect"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// route is one operation of /fed/v1: as the document describes it, and what answers it.
type route struct {
	operation
	handle answer.Handler
}

// Who may call a route. Those for operators only are refused to others before anything else is looked at; of whom a job is, its handler
// asks.
const (
	forAnybody      = "anybody"
	forOwners       = "the job's owner, operators"
	forOperators    = "operators"
	forAdmins       = "administrators"
	forCoordinators = "coordinators, for what stands below them; operators"
)

// restricted is what answers the route, for those who may call it.
func (r *route) restricted() answer.Handler {
	return func(w http.ResponseWriter, req *http.Request, c identity.Caller) error {
		if err := r.refuse(c); err != nil {
			return err
		}
		return r.handle(w, req, c)
	}
}

func (r *route) refuse(c identity.Caller) error {
	switch r.Who {
	case forAdmins:
		if c.Role < identity.RoleAdministrator {
			return errAdminsOnly
		}
	case forOperators:
		if c.Role < identity.RoleOperator {
			return errOperatorsOnly
		}
	case forCoordinators:
		if c.Role < identity.RoleOperator && !c.CoordinatesAny() {
			return errCoordinatorsOnly
		}
	}
	return nil
}

// fedRoutes are all routes of /fed/v1.
func (s *Server) fedRoutes() []route {
	var t table
	s.jobRoutes(&t)
	s.listRoutes(&t)
	s.siteRoutes(&t)
	s.operationRoutes(&t)
	s.accountRoutes(&t)
	s.bookRoutes(&t)
	s.poolRoutes(&t)
	return t.routes
}

// table takes routes.
type table struct{ routes []route }

type query = []param

func (t *table) add(method, path, who string, in, out any, doc string, q query, h answer.Handler) *route {
	t.routes = append(t.routes, route{operation{Method: method, Path: path, Who: who, In: in, Out: out, Doc: doc, Query: q}, h})
	return &t.routes[len(t.routes)-1]
}

func (t *table) get(path, who string, out any, doc string, q query, h answer.Handler) *route {
	return t.add("GET", path, who, nil, out, doc, q, h)
}

// jobRoutes are those for single jobs.
func (s *Server) jobRoutes(t *table) {
	t.add("POST", "/fed/v1/job", forAnybody, v1.SubmitRequest{}, v1.SubmitResponse{}, "Submit a job, or ask when it would start", nil, s.submit)
	t.get("/fed/v1/job/{id}", forAnybody, v1.JobRecord{}, "A job with its tasks, attempts and history", nil, s.getJob)
	t.get("/fed/v1/job/{id}/wait", forAnybody, v1.JobRecord{}, "The same, once the job has ended; status 204 after a minute: ask again", nil, s.waitJob)
	t.get("/fed/v1/job/{id}/explain", forAnybody, v1.Explanation{}, "Why a job is where it is", nil, s.explainJob)
	t.get("/fed/v1/job/{id}/payload", forOwners, v1.PayloadResponse{}, "A job's script, arguments and environment", nil, s.getPayload)
	output := query{{"stream", "stdout or stderr"}, {"task", "index of an array's task"}}
	t.get("/fed/v1/job/{id}/log", forOwners, v1.Log{}, "Where a job's output is", output, s.logs.getLog)
	t.get("/fed/v1/job/{id}/log/text", forOwners, nil, "The output itself, where it comes through the daemon; the header "+v1.LogHeader+" says whether there is more",
		append(output, param{"offset", "bytes that are known already"}), s.logs.getLogText).Content = "application/octet-stream"
	for _, a := range []struct {
		kind federation.RequestKind
		doc  string
	}{
		{federation.RequestCancel, "Cancel jobs"},
		{federation.RequestSignal, "Send a signal to jobs that run"},
		{federation.RequestHold, "Keep jobs that wait from starting"},
		{federation.RequestRelease, "Let held jobs go"},
		{federation.RequestRequeue, "Stop jobs and queue them again"},
		{federation.RequestReqHold, "The same, and hold them"},
		{federation.RequestSpecial, "The same, in state SPECIAL_EXIT"},
		{federation.RequestUpdate, "Change what jobs ask for"},
		{federation.RequestTop, "Put jobs before the others of their user"},
		{federation.RequestSuspend, "Suspend jobs; operators only, unless the site lets others"},
		{federation.RequestResume, "Let suspended jobs go on"},
	} {
		t.add("POST", "/fed/v1/jobs/"+string(a.kind), forOwners, v1.ActRequest{}, v1.ActResponse{}, a.doc, nil, s.act(a.kind))
	}
}

// listRoutes are those for what the commands of users list.
func (s *Server) listRoutes(t *table) {
	t.get("/fed/v1/config", forAnybody, []v1.ConfigValue{}, "What scontrol show config shows, in its order", nil, s.config)
	t.get("/fed/v1/topology", forAnybody, []v1.Switch{}, "The switches of the sites", nil, s.topology)
	t.get("/fed/v1/accounting", forAnybody, v1.AccountingResponse{}, "What sacct shows. The query is that of GET /slurmdb/<version>/jobs, and cost: 1: with what jobs have come to", nil, s.accounting)
	t.get("/fed/v1/associations", forAnybody, v1.Associations{}, "What sacctmgr and sshare show", query{{"cluster", "sites, with commas"}}, s.associations)
	t.get("/fed/v1/priorities", forAnybody, v1.Priorities{}, "What the priorities of waiting jobs are made of, for sprio", query{
		{"job_id", "jobs, with commas"}, {"users", "names or uids"}, {"partition", ""}, {"account", ""}, {"cluster", "sites"},
	}, s.priorities)
	t.get("/fed/v1/queue", forAnybody, nil, "What squeue shows, in its order, in a binary form of its own: see v1.AppendRow", query{
		{"job_id", "jobs, with commas"}, {"users", "names or uids"}, {"states", "long names"}, {"name", ""}, {"partition", ""}, {"account", ""},
		{"qos", ""}, {"cluster", "sites"}, {"nodes", "hostlist: which of them no site has is told"}, {"live", "1: none that has ended"},
		{"sort", "letters of squeue's --format with commas, each with + or - before it"},
		{"start", "1: with the expected start of jobs that wait"}, {"cost", "1: with what jobs that run have come to"},
	}, s.queue.Get).Content = "application/octet-stream"
	t.get("/fed/v1/events", forAnybody, v1.Event{}, "What happens, one event in a line", query{
		{"after", "the mark to go on from"}, {"since", "seconds since 1970: without a mark, begin there"}, {"follow", "1: the answer does not end"},
		{"where", "KEY=VALUE[,VALUE...] or KEY!=VALUE[,VALUE...]; keys: event, job, user, who, name, site, node, state, from, reason, request; * stands for anything; may be repeated"},
	}, s.events.get).Content = "application/x-ndjson"
}

// siteRoutes are those for sites and their nodes.
func (s *Server) siteRoutes(t *table) {
	t.get("/fed/v1/sites", forAnybody, []v1.Site{}, "The members of the federation", query{{"removed", "1: those too that have left it"}}, s.sites.List)
	t.get("/fed/v1/site/{name}", forAnybody, v1.SiteDetail{}, "One site, with its history and what is planned there", nil, s.sites.Show)
	t.add("POST", "/fed/v1/sites", forOperators, v1.AddSite{}, v1.Site{}, "Take a site into the federation", nil, s.sites.Join)
	t.add("POST", "/fed/v1/site/{name}/update", forOperators, v1.UpdateSite{}, v1.Site{}, "Change how a site is described that was added while the daemon ran", nil, s.sites.Update)
	t.add("POST", "/fed/v1/site/{name}/test", forOperators, nil, []v1.SiteCheck{}, "Try everything that is needed of a site", nil, s.sites.Test)
	t.get("/fed/v1/maintenance", forAnybody, []v1.Maintenance{}, "What is planned at sites and is not over", nil, s.sites.Maintenance)
	t.add("POST", "/fed/v1/maintenance", forOperators, v1.Maintenance{}, v1.Maintenance{}, "Plan a maintenance of a site, or of some of its nodes", nil, s.sites.Plan)
	t.add("DELETE", "/fed/v1/maintenance/{number}", forOperators, nil, v1.Maintenance{}, "Take a planned maintenance back; the answer is what it was", nil, s.sites.TakeBack)
	choice := query{{"nodes", "SITE/HOSTLIST, SITE/*, or a HOSTLIST whose names are of one site alone; may be repeated"}, {"where", "KEY=VALUE[,VALUE...]: see v1.SetNodes; may be repeated"}}
	t.get("/fed/v1/nodes", forAnybody, []v1.Node{}, "The nodes of all sites, with what operators want of them", choice, s.nodes.List)
	t.get("/fed/v1/node/{site}/{name}", forAnybody, v1.Node{}, "One node, with its history", nil, s.nodes.Show)
	t.add("POST", "/fed/v1/nodes/state", forOperators, v1.SetNodes{}, v1.SetNodesResponse{}, "Drain nodes, or resume those that were drained here", nil, s.nodes.Set)
	t.add("POST", "/fed/v1/nodes/reboot", forAdmins, v1.RebootNodes{}, v1.SetNodesResponse{}, "Reboot nodes once they are idle, where their site can", nil, s.nodes.Reboot)
}

// operationRoutes are those for many jobs at once, and who did what.
func (s *Server) operationRoutes(t *table) {
	t.get("/fed/v1/jobs", forAnybody, []v1.JobLine{}, "The jobs that conditions choose; those that have ended only where a state says so", query{
		{"where", "KEY=VALUE[,VALUE...], KEY!=VALUE[,VALUE...], age>TIME or age<TIME; keys: id, state, user, account, site, partition, node, gpu, reason, name, age; may be repeated"},
	}, s.jobs.List)
	t.add("POST", "/fed/v1/operations", forOwners, v1.NewOperation{}, v1.Operation{}, "Do one thing to many jobs, or show to which", nil, s.jobs.Operate)
	t.get("/fed/v1/operations", forOwners, []v1.Operation{}, "The newest operations on many jobs, oldest first; a user's own, an operator all", nil, s.jobs.ListOperations)
	t.get("/fed/v1/operation/{id}", forOwners, v1.Operation{}, "How an operation stands", query{{"after", "items settled after the n-th"}}, s.jobs.Show)
	t.add("POST", "/fed/v1/operation/{id}/told", forOwners, nil, nil, "The caller has read how it ended: the same command is a new operation from now on", nil, s.jobs.Told)
	t.get("/fed/v1/audit", forOperators, []v1.AuditEntry{}, "Who has done what to jobs, nodes and sites, oldest first", query{
		{"user", "who did it"}, {"verb", ""}, {"kind", "job, node, site ...: what was acted on"}, {"object", "its name; NAME* for all that begin so"},
		{"since", "seconds since 1970"}, {"until", "likewise; before then"}, {"limit", "how many at most, the newest of them; 1000 if not given"},
	}, s.audit.List)
}

// accountRoutes are those for the account tree, and the rules of health.
func (s *Server) accountRoutes(t *table) {
	t.get("/fed/v1/accounts", forAnybody, []v1.Account{}, "The federation's account tree, and its QOS. Users see themselves, coordinators those below them", nil, s.accounts.List)
	t.add("POST", "/fed/v1/accounts", forCoordinators, v1.EditAccounts{}, v1.EditAccountsResponse{}, "Change accounts, users and QOS", nil, s.accounts.Edit)
	t.add("POST", "/fed/v1/accounts/import", forOperators, v1.ImportAccounts{}, v1.EditAccountsResponse{}, "Bring what a site's accounting has into the tree", nil, s.accounts.Import)
	t.add("POST", "/fed/v1/accounts/sync", forOperators, v1.SyncAccounts{}, v1.AccountDrift{}, "Make a site's accounting agree with the tree", nil, s.accounts.Sync)
	t.get("/fed/v1/accounts/drift", forOperators, v1.AccountDrift{}, "What sites' accounting has otherwise than the tree", query{{"site", "a site; may be repeated"}}, s.accounts.Drift)
	t.get("/fed/v1/health", forAnybody, v1.Health{}, "The rules of health, what they remember of nodes, and their breakers", nil, s.rules.Get)
	t.get("/fed/v1/health/history", forAnybody, []v1.HealthFinding{}, "What the rules of health have said, oldest first", query{{"limit", "at most so many, the newest"}}, s.rules.History)
	t.add("POST", "/fed/v1/health/reset", forOperators, v1.ResetHealth{}, v1.ResetHealthResponse{}, "Close breakers of the rules of health", nil, s.rules.Reset)
	t.add("POST", "/fed/v1/health/check", forOperators, v1.HealthCheck{}, struct{}{}, "Tell what a node's health check has found", nil, s.rules.Check)
}

// bookRoutes are those for the ledger and reports of it.
func (s *Server) bookRoutes(t *table) {
	days := query{{"from", "the first UTC day, YYYY-MM-DD; without it, the first of this month"}, {"until", "the day after the last; without it, tomorrow"}}
	t.get("/fed/v1/books/sums", forAnybody, []v1.BookedSum{}, "Sums of the ledger. A user sees what is his own and what is of accounts that he coordinates, operators see all", append(days, query{
		{"by", "site, account, user, qos, partition, gpu, name: what to tell apart, with commas"}, {"every", "day or month: tell the time apart"}, {"sums", "which numbers are wanted, with commas: cpu, gpu, amount ...; the others are 0. Not set: all"},
		{"site", "only these; may be repeated. So for all that by takes"}, {"account", ""}, {"user", ""}, {"qos", ""}, {"partition", ""}, {"gpu", ""}, {"name", ""}}...), s.books.Sums)
	t.get("/fed/v1/books/budgets", forAnybody, []v1.Budget{}, "How the budgets of the account tree stand. Users see their own and those of their accounts, coordinators those of theirs", nil, s.books.BudgetList)
	t.get("/fed/v1/reports", forAnybody, []v1.SavedReport{}, "Reports that are made again and again; a user's own, an operator all", nil, s.reports.List)
	t.add("POST", "/fed/v1/reports", forAnybody, v1.SavedReport{}, v1.SavedReport{}, "Save a report, in place of one of the same name", nil, s.reports.Save)
	whose := query{{"user", "whose it is, for operators; not set: the caller's"}}
	t.add("DELETE", "/fed/v1/report/{name}", forOwners, nil, struct{}{}, "Remove a saved report", whose, s.reports.Remove)
	t.add("POST", "/fed/v1/report/{name}/run", forOwners, nil, v1.DeliveredReport{}, "Make and deliver a saved report now", whose, s.reports.Run)
	t.add("POST", "/fed/v1/books/check", forOperators, nil, []v1.BooksCheck{}, "Compare the ledger with what sites say", append(days, param{"site", "these; may be repeated"}), s.books.Compare)
	t.get("/fed/v1/books/bills", forOperators, []v1.Bill{}, "The bills of providers that were imported, beside what the ledger had estimated", nil, s.books.Bills)
	t.add("POST", "/fed/v1/books/bills", forOperators, v1.ImportBill{}, v1.Bill{}, "Take a provider's bill for a site, in place of an earlier one of the same period", nil, s.books.Import)
}

// poolRoutes are those for rented machines, what they cost, and the rest.
func (s *Server) poolRoutes(t *table) {
	t.get("/fed/v1/options", forAnybody, []v1.PluginOption{}, "Options that plugins of sites add to sbatch's", nil, s.getOptions)
	t.get("/fed/v1/steps", forAnybody, []v1.Step{}, "The steps that run, where sites tell of them", query{{"job_id", "of these jobs, with commas"}}, s.steps.getSteps)
	t.add("POST", "/fed/v1/steps/signal", forOwners, v1.StepSignal{}, struct{}{}, "Signal or kill one step of a job that runs", nil, s.steps.signalStep)
	t.get("/fed/v1/pools", forOperators, []v1.Pool{}, "How the pools of rented machines stand", nil, s.pools.get)
	t.get("/fed/v1/machines", forOperators, []v1.Machine{}, "Rented machines, the newest first", query{
		{"site", ""}, {"since", "seconds since 1970: those too that have ended since then"}, {"limit", "how many at most"},
	}, s.pools.getMachines)
	t.get("/fed/v1/offers", forAnybody, []v1.Offer{}, "What clouds ask for machines with accelerators, the cheapest first", query{
		{"gpu", "h100, or h100:8 for so many in all"}, {"tpu", "v5p, or v5p:128 for so many chips"}, {"cloud", "a cloud, by the name that offers have"}, {"region", "may have *; or a zone"},
		{"market", "on-demand, spot or flex"}, {"limit", "how many at most"},
	}, s.offers.Get)
	t.add("POST", "/fed/v1/what-if", forAnybody, v1.WhatIf{}, v1.WhatIfAnswer{}, "What would become of the jobs that wait if something were different: of the caller's own, for operators of all. Nothing is changed", nil, s.whatIf.Ask)
	t.add("POST", "/fed/v1/offers/refresh", forOperators, nil, []v1.PriceList{}, "Ask the clouds' price lists now", nil, s.offers.Refresh)
	t.add("POST", "/fed/v1/site/{name}/state", forOperators, v1.SetSiteState{}, v1.SiteSet{}, "Drain a site, take it back, have it leave the federation, or say that it is lost", nil, s.sites.SetState)
	t.add("POST", "/fed/v1/site/{name}/retry", forOperators, nil, []v1.Cooling{}, "Have a cloud asked again for what it has refused; the answer is what that was", nil, s.pools.retry)
	t.get("/fed/v1/openapi.json", forAnybody, nil, "This document", nil, s.getDocument).Content = "application/json"
}

// comments are those of the types of package v1: see TestComments.
//
//go:embed comments.json
var comments []byte

// getDocument is GET /fed/v1/openapi.json.
func (s *Server) getDocument(w http.ResponseWriter, _ *http.Request, _ identity.Caller) error {
	text, err := s.document()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
	return nil
}

// makeDocument makes the OpenAPI document of fedRoutes and of the types that they name.
func (s *Server) makeDocument() ([]byte, error) {
	var docs typeDocs
	if err := json.Unmarshal(comments, &docs); err != nil {
		return nil, err
	}
	var routes []operation
	for _, r := range s.fedRoutes() {
		routes = append(routes, r.operation)
	}
	return describeRoutes(documentHead{
		Title: "fsub", Version: "1",
		Doc: "What a daemon of fsub tells and does beside slurmrestd's API, which it answers too, under /slurm and /slurmdb. Times are UTC; names of " +
			"states, reasons and options are Slurm's. Fields may be added; none is renamed or changes its meaning under /fed/v1. A query that is too long for " +
			"a header of 64 KiB may be the body of the GET, of type application/x-www-form-urlencoded.",
		Error: v1.ErrorResponse{},
		Shapes: map[reflect.Type]shape{
			reflect.TypeFor[federation.TaskSet](): {Type: "string", Doc: "indices of an array's tasks as --array names them, \"0-99,200\"; or a list of numbers"},
			reflect.TypeFor[federation.Money]():   {Type: "number", Doc: "US dollars, to the millionth"},
		},
		Docs: docs,
	}, routes)
}
