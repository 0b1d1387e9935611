package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"reflect"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/share"
	"fsub/federation/tunnel"
)

// route is one operation of /fed/v1: as the document describes it, and what answers it.
type route struct {
	operation
	handle answer.Handler
}

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
	switch v1.Who(r.Who) {
	case v1.ForAdmins:
		if c.Role < identity.RoleAdministrator {
			return errAdminsOnly
		}
	case v1.ForOperators:
		if c.Role < identity.RoleOperator {
			return errOperatorsOnly
		}
	case v1.ForCoordinators:
		if c.Role < identity.RoleOperator && !c.CoordinatesAny() {
			return errCoordinatorsOnly
		}
	}
	return nil
}

// fedRoutes are all routes of /fed/v1.
func (s *Server) fedRoutes() []route {
	t := table{mark: queue.Lists{Queue: s.queue}.Mark}
	s.jobRoutes(&t)
	s.listRoutes(&t)
	s.siteRoutes(&t)
	s.operationRoutes(&t)
	s.accountRoutes(&t)
	s.bookRoutes(&t)
	s.poolRoutes(&t)
	tokens := newTokens(&s.cfg)
	tokens.routes(&t)
	newLogins(&s.cfg, s.who, tokens).routes(&t)
	s.browsers.routes(&t)
	return t.routes
}

// table takes routes.
type table struct {
	routes []route
	mark   func(context.Context) (journal.Mark, error) // of the store's log, before all that is written after the call
}

type query = []param

func (t *table) add(method, path string, who v1.Who, in, out any, doc string, q query, h answer.Handler) *route {
	t.routes = append(t.routes, route{operation{Method: method, Path: path, Who: string(who), In: in, Out: out, Doc: doc, Query: q}, h})
	return &t.routes[len(t.routes)-1]
}

func (t *table) get(path string, who v1.Who, out any, doc string, q query, h answer.Handler) *route {
	return t.add("GET", path, who, nil, out, doc, q, h)
}

// listsJobs says that the route lists jobs page by page, as of a mark of the log of changes.
func (r *route) listsJobs() { r.Pages, r.Marked = true, true }

// lines says that both bodies of the route are JSON objects, one in a line.
func (r *route) lines() { r.Takes, r.Content = "application/x-ndjson", "application/x-ndjson" }

// jobRoutes are those for single jobs.
func (s *Server) jobRoutes(t *table) {
	t.add("POST", "/fed/v1/job", v1.ForAnybody, v1.SubmitRequest{}, v1.SubmitResponse{}, "Submit a job, or ask when it would start", nil, s.submit)
	t.get("/fed/v1/job/{id}", v1.ForAnybody, v1.JobRecord{}, "A job with its tasks, attempts and history", nil, s.getJob)
	t.get("/fed/v1/job/{id}/wait", v1.ForAnybody, v1.JobRecord{}, "The same, once the job has ended; status 204 after a minute: ask again", nil, s.waitJob)
	t.get("/fed/v1/job/{id}/explain", v1.ForAnybody, v1.Explanation{}, "Why a job is where it is", nil, s.explainJob)
	t.get("/fed/v1/job/{id}/payload", v1.ForOwners, v1.PayloadResponse{}, "A job's script, arguments and environment", nil, s.getPayload)
	t.add("POST", "/fed/v1/job/{id}/tunnel", v1.ForOwners, nil, v1.SiteSrun{}, "A connection to the step service of a running job, for its owner alone: the request has the header Upgrade: "+tunnel.Protocol+
		", and status 101 is followed by frames of fsub's own srun. Of a job at a Slurm cluster, status 200 says how to call that cluster's srun", nil, s.tunnels.open).Upgrades = true
	ask(t, "/fed/v1/job/{id}/log", v1.ForOwners, v1.Log{}, "Where a job's output is", s.logs.getLog)
	ask(t, "/fed/v1/job/{id}/log/text", v1.ForOwners, nil, "The output itself, where it comes through the daemon; the header "+v1.LogHeader+" says whether there is more",
		s.logs.getLogText).Content = "application/octet-stream"
	for _, a := range []struct {
		kind action.Kind
		doc  string
	}{
		{action.Cancel, "Cancel jobs"},
		{action.Signal, "Send a signal to jobs that run"},
		{action.Hold, "Keep jobs that wait from starting"},
		{action.Release, "Let held jobs go"},
		{action.Requeue, "Stop jobs and queue them again"},
		{action.ReqHold, "The same, and hold them"},
		{action.Special, "The same, in state SPECIAL_EXIT"},
		{action.Update, "Change what jobs ask for"},
		{action.Top, "Put jobs before the others of their user"},
		{action.Suspend, "Suspend jobs; operators only, unless the site lets others"},
		{action.Resume, "Let suspended jobs go on"},
	} {
		t.add("POST", "/fed/v1/jobs/"+string(a.kind), v1.ForOwners, v1.ActRequest{}, v1.ActResponse{}, a.doc, nil, s.act(a.kind))
	}
	submit := batches{gate: s.gate, queue: s.queue, turns: share.NewTurns(1, 0), calls: calls{s.cfg.Now, s.getOptions}}
	t.add("POST", "/fed/v1/jobs/submit", v1.ForAnybody, v1.BatchEntry{}, v1.BatchJob{}, "Submit jobs together, all or none: one in a line, and they name each other in their dependencies", nil,
		submit.submit).lines()
	states := stateList{store: s.cfg.Store, queue: s.queue}
	t.add("POST", "/fed/v1/jobs/states", v1.ForAnybody, v1.StatesRequest{}, v1.StatesResponse{}, "The states of many jobs", nil, states.get)
}

// listRoutes are those for what the commands of users list.
func (s *Server) listRoutes(t *table) {
	list(t, &v1.ConfigValues, s.config)
	list(t, &v1.Switches, s.topology)
	ask(t, "/fed/v1/accounting", v1.ForAnybody, v1.AccountingResponse{}, "What sacct shows. The query is that of GET /slurmdb/<version>/jobs, and cost", s.accounting)
	ask(t, "/fed/v1/associations", v1.ForAnybody, v1.Associations{}, "What sacctmgr and sshare show", s.associations)
	ask(t, "/fed/v1/priorities", v1.ForAnybody, v1.Priorities{}, "What the priorities of waiting jobs are made of, for sprio", s.priorities)
	ask(t, "/fed/v1/queue", v1.ForAnybody, nil, "What squeue shows, in its order, in a binary form of its own: see v1.AppendRow", s.queue.Get).Content = "application/octet-stream"
	ask(t, "/fed/v1/events", v1.ForAnybody, v1.Event{}, "What happens, one event in a line", s.events.get).Content = "application/x-ndjson"
}

// siteRoutes are those for sites and their nodes.
func (s *Server) siteRoutes(t *table) {
	list(t, &v1.Sites, s.sites.List)
	do(t, "GET", "/fed/v1/site/{name}", v1.ForAnybody, "One site, with its history and what is planned there", s.sites.Show)
	post(t, "/fed/v1/sites", v1.ForOperators, "Take a site into the federation", s.sites.Join)
	post(t, "/fed/v1/site/{name}/update", v1.ForOperators, "Change the description of a site that was added while the daemon ran", s.sites.Update)
	do(t, "POST", "/fed/v1/site/{name}/test", v1.ForOperators, "Try everything that is needed of a site", s.sites.Test)
	list(t, &v1.Maintenances, s.sites.Maintenance)
	post(t, "/fed/v1/maintenance", v1.ForOperators, "Plan a maintenance of a site, or of some of its nodes", s.sites.Plan)
	do(t, "DELETE", "/fed/v1/maintenance/{number}", v1.ForOperators, "Take a planned maintenance back; the answer is what it was", s.sites.TakeBack)
	list(t, &v1.Nodes, s.nodes.List)
	do(t, "GET", "/fed/v1/node/{site}/{name}", v1.ForAnybody, "One node, with its history", s.nodes.Show)
	postLarge(t, 4<<20, "/fed/v1/nodes/state", v1.ForOperators, "Drain nodes, or resume those that were drained here", s.nodes.Set)
	postLarge(t, 4<<20, "/fed/v1/nodes/reboot", v1.ForAdmins, "Reboot nodes once they are idle, where their site can", s.nodes.Reboot)
}

// operationRoutes are those for many jobs at once, and who did what.
func (s *Server) operationRoutes(t *table) {
	pages := newJobPages(s.jobs, s.queue)
	t.get(v1.Jobs.Path, v1.Jobs.Who, []v1.JobLine{}, v1.Jobs.Doc, append(v1.QueryParams(new(v1.JobQuery)), v1.QueryParams(new(v1.PageQuery))...), pages.List).listsJobs()
	list(t, &v1.Summary, pages.Summary)
	postLarge(t, 16<<20, "/fed/v1/operations", v1.ForOwners, "Do one thing to many jobs, or show to which", s.jobs.Operate)
	list(t, &v1.Operations, s.jobs.ListOperations)
	doAsked(t, "GET", "/fed/v1/operation/{id}", v1.ForOwners, "How an operation stands", s.jobs.Show)
	t.add("POST", "/fed/v1/operation/{id}/told", v1.ForOwners, nil, nil, "The caller has read how it ended: the same command is a new operation from now on", nil, s.jobs.Told)
	history(t, &v1.Audits, 1000, s.audit.List)
	list(t, &v1.Daemons, s.daemons.List)
	do(t, "POST", "/fed/v1/daemons/step-down", v1.ForAdmins, "Have another daemon lead", s.daemons.StepDown)
}

// accountRoutes are those for the account tree, and the rules of health.
func (s *Server) accountRoutes(t *table) {
	list(t, &v1.Accounts, s.accounts.List)
	postLarge(t, 16<<20, "/fed/v1/accounts", v1.ForCoordinators, "Change accounts, users and QOS", s.accounts.Edit)
	postLarge(t, 16<<20, "/fed/v1/accounts/import", v1.ForOperators, "Bring what a site's accounting has into the tree", s.accounts.Import)
	postLarge(t, 16<<20, "/fed/v1/accounts/sync", v1.ForOperators, "Make a site's accounting agree with the tree", s.accounts.Sync)
	doAsked(t, "GET", "/fed/v1/accounts/drift", v1.ForOperators, "What sites' accounting has otherwise than the tree", s.accounts.Drift)
	do(t, "GET", "/fed/v1/health", v1.ForAnybody, "The rules of health, what they remember of nodes, and their breakers", s.rules.Get)
	history(t, &v1.HealthFindings, 200, s.rules.History)
	post(t, "/fed/v1/health/reset", v1.ForOperators, "Close breakers of the rules of health", s.rules.Reset)
	post(t, "/fed/v1/health/check", v1.ForOperators, "Tell what a node's health check has found", s.rules.Check)
}

// bookRoutes are those for the ledger and reports of it.
func (s *Server) bookRoutes(t *table) {
	ask(t, "/fed/v1/books/sums", v1.ForAnybody, []v1.BookedSum{}, "Sums of the ledger. Users see their own sums and those of accounts that they coordinate, operators see all", s.books.Sums)
	list(t, &v1.Budgets, s.books.BudgetList)
	newSavedReports(&s.cfg).routes(t)
	newHooks(&s.cfg).routes(t)
	doAsked(t, "POST", "/fed/v1/books/check", v1.ForOperators, "Compare the ledger with what sites say", s.books.Compare)
	list(t, &v1.Bills, s.books.Bills)
	t.add("POST", "/fed/v1/books/bills", v1.ForOperators, v1.ImportBill{}, v1.Bill{}, "Take a provider's bill for a site, in place of an earlier one of the same period", nil, s.books.Import)
}

// poolRoutes are those for rented machines, what they cost, and the rest.
func (s *Server) poolRoutes(t *table) {
	list(t, &v1.PluginOptions, s.getOptions)
	ask(t, "/fed/v1/steps", v1.ForAnybody, []v1.Step{}, "The running steps, where sites report them", s.steps.getSteps)
	t.add("POST", "/fed/v1/steps/signal", v1.ForOwners, v1.StepSignal{}, struct{}{}, "Signal or kill one step of a job that runs", nil, s.steps.signalStep)
	list(t, &v1.Pools, s.pools.get)
	list(t, &v1.Machines, s.pools.getMachines)
	list(t, &v1.Offers, s.offers.Get)
	t.add("POST", "/fed/v1/what-if", v1.ForAnybody, v1.WhatIf{}, v1.WhatIfAnswer{}, "What would become of the jobs that wait if something were different: of the caller's own, for operators of all. Nothing is changed", nil, s.whatIf.Ask)
	do(t, "POST", "/fed/v1/offers/refresh", v1.ForOperators, "Ask the clouds' price lists now", s.offers.Refresh)
	post(t, "/fed/v1/site/{name}/state", v1.ForOperators, "Drain a site, take it back, have it leave the federation, or say that it is lost", s.sites.SetState)
	do(t, "POST", "/fed/v1/site/{name}/retry", v1.ForOperators, "Ask a cloud again for what it refused; the answer lists that", s.pools.retry)
	t.get("/fed/v1/openapi.json", v1.ForAnybody, nil, "This document", nil, s.getDocument).Content = "application/json"
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
