package main

import (
	"context"
	"fmt"

	"fsub/federation/accounts"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// jobWords are the jobs that have not ended, with what tells them apart.
func jobWords(ctx context.Context, c *client.Client) ([]string, error) {
	newest, err := client.ListPage(ctx, c, &v1.Jobs, v1.JobQuery{Sort: "-id"}, v1.PageQuery{Limit: v1.MostPage, Fields: "job_id,array_job_id,name,user,state"})
	if err != nil {
		return nil, err
	}
	return each(newest.Items, err, func(j *v1.JobLine) []string {
		id := j.ID
		if j.Array != 0 {
			id = j.Array
		}
		return []string{fmt.Sprintf("%d\t%s of %s, %s", id, j.Name, j.User, j.State)}
	})
}

func siteWords(ctx context.Context, c *client.Client) ([]string, error) {
	sites, err := client.List(ctx, c, &v1.Sites, v1.SiteQuery{Removed: true})
	return each(sites, err, func(s *v1.Site) []string { return []string{string(s.Name)} })
}

func nodeWords(ctx context.Context, c *client.Client) ([]string, error) {
	nodes, err := c.Nodes(ctx, nil, nil)
	return each(nodes, err, func(n *v1.Node) []string { return []string{string(n.Site), string(n.Site) + "/" + n.Name} })
}

func partitionWords(ctx context.Context, c *client.Client) ([]string, error) {
	nodes, err := c.Nodes(ctx, nil, nil)
	return each(nodes, err, func(n *v1.Node) []string { return n.Partitions })
}

func treeAccountWords(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(ctx, c, accounts.Account)
}

func qosWords(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(ctx, c, accounts.QOS)
}

// namesOf are the names of the account tree's records of a kind.
func namesOf(ctx context.Context, c *client.Client, kind accounts.Kind) ([]string, error) {
	all, err := client.List(ctx, c, &v1.Accounts, v1.None{})
	return each(all, err, func(a *v1.Account) []string {
		if a.Kind != kind {
			return nil
		}
		return []string{a.Name}
	})
}

// userWords are the users of the account tree, and those who have jobs.
func userWords(ctx context.Context, c *client.Client) ([]string, error) {
	users, err := client.List(ctx, c, &v1.Summary, v1.SummaryQuery{By: "user"})
	if err != nil {
		return nil, err
	}
	all, err := client.List(ctx, c, &v1.Accounts, v1.None{})
	if err != nil {
		all = nil
	}
	for _, a := range all {
		if a.Kind == accounts.User {
			users = append(users, v1.JobCount{User: a.Name})
		}
	}
	return each(users, nil, func(n *v1.JobCount) []string { return []string{n.User} })
}

func groupWords(ctx context.Context, c *client.Client) ([]string, error) {
	groups, err := client.List(ctx, c, &v1.Summary, v1.SummaryQuery{By: "group"})
	return each(groups, err, func(n *v1.JobCount) []string { return []string{n.Group} })
}
