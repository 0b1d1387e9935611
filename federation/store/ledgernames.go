package store

import (
	"fmt"
	"sync"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
)

// names are the numbers of words and groups that the ledger has. Only what is committed is in there.
type names struct {
	mu     sync.Mutex
	words  map[string]int64
	groups map[ledger.Group]int64
	tres   map[string]accounting.TRES
}

// maxNames bounds each of them: 20 MB.
const maxNames = 100_000

// add takes over what a transaction that is committed has numbered.
func (n *names) add(b *booking) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.words == nil || len(n.words)+len(b.words) > maxNames {
		n.words = map[string]int64{}
	}
	if n.groups == nil || len(n.groups)+len(b.groups) > maxNames {
		n.groups = map[ledger.Group]int64{}
	}
	for w, id := range b.words {
		n.words[w] = id
	}
	for g, id := range b.groups {
		n.groups[g] = id
	}
}

func (n *names) word(w string) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.words[w]
	return id, ok
}

func (n *names) group(g *ledger.Group) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.groups[*g]
	return id, ok
}

// parsed is a TRES text as numbers, which nobody changes.
func (n *names) parsed(text string) (accounting.TRES, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if t, ok := n.tres[text]; ok {
		return t, nil
	}
	t, err := accounting.ParseTRES(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", federation.ErrInvalid, err)
	}
	if n.tres == nil || len(n.tres) > maxNames {
		n.tres = map[string]accounting.TRES{}
	}
	n.tres[text] = t
	return t, nil
}

func (b *booking) word(w string) (int64, error) {
	if id, ok := b.words[w]; ok {
		return id, nil
	}
	if id, ok := b.known.word(w); ok {
		b.words[w] = id
		return id, nil
	}
	id, err := b.number("SELECT id FROM ledger_words WHERE word = $1", "INSERT INTO ledger_words (word) VALUES ($1) RETURNING id", w)
	b.words[w] = id
	return id, err
}

func (b *booking) group(g *ledger.Group) (int64, error) {
	if id, ok := b.groups[*g]; ok {
		return id, nil
	}
	if id, ok := b.known.group(g); ok {
		b.groups[*g] = id
		return id, nil
	}
	id, err := b.number("SELECT id FROM ledger_groups WHERE (site, account, user_name, qos, part, gpu, name, job_group) = ($1, $2, $3, $4, $5, $6, $7, $8)",
		"INSERT INTO ledger_groups (site, account, user_name, qos, part, gpu, name, job_group) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
		g.Site, g.Account, g.User, g.QOS, g.Partition, g.GPU, g.Name, g.JobGroup)
	b.groups[*g] = id
	return id, err
}

// number is the number of something, which it gets if it has none.
func (b *booking) number(find, insert string, args ...any) (int64, error) {
	id, found, err := b.t.number(find, args...)
	if err == nil && !found {
		id, _, err = b.t.number(insert, args...)
	}
	return id, err
}
