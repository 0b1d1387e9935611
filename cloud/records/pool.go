package records

import (
	"context"
	"time"

	"fsub/federation"
)

// PoolStore keeps what the driver of a rented pool must not forget: the jobs that it has taken, its gangs and its machines. What a
// record holds is the driver's own business; the store gives it back as it was. What a method returned without error is durable.
type PoolStore interface {
	// CommitPool writes records over what is there under their kind and ID, all or none. A closed record stays in the books and is not loaded any more.
	CommitPool(ctx context.Context, site federation.SiteName, put []PoolRecord) error
	// LoadPool returns every record of a site that is open, or was closed at since or later, in the order in which they were first written. Payloads are left out.
	LoadPool(ctx context.Context, site federation.SiteName, since time.Time) ([]PoolRecord, error)
	// PoolRecords returns all records of a kind about a job, closed ones too, oldest first. Payloads are left out.
	PoolRecords(ctx context.Context, site federation.SiteName, kind PoolKind, job federation.JobID) ([]PoolRecord, error)
	// PoolPayload returns the payload of one record; ErrNotFound: there is no such record, or it has none.
	PoolPayload(ctx context.Context, site federation.SiteName, kind PoolKind, id string) ([]byte, error)
	// PoolHistory returns records of a kind that are open or were closed at since or later, over all sites if site is "", the newest first, at most limit: the books of machines.
	PoolHistory(ctx context.Context, site federation.SiteName, kind PoolKind, since time.Time, limit int) ([]PoolRecord, error)
	// NextPoolNumber returns a number that it has returned to nobody before for this site and kind, from 1.
	NextPoolNumber(ctx context.Context, site federation.SiteName, kind PoolKind) (int64, error)
}

// PoolKind is a kind of record.
type PoolKind string

const (
	PoolJob     PoolKind = "job"     // an attempt that the site has taken
	PoolGang    PoolKind = "gang"    // machines that are asked for together
	PoolMachine PoolKind = "machine" // with what it has cost
	PoolCool    PoolKind = "cool"    // what the cloud has refused, by what that is about
	PoolOdds    PoolKind = "odds"    // how requests for an offering went lately
	PoolRisk    PoolKind = "risk"    // how often machines of an offering were taken back
	PoolLife    PoolKind = "life"    // when daemons have started
)

// PoolRecord is one record of a pool's driver.
type PoolRecord struct {
	Site   federation.SiteName
	Kind   PoolKind
	ID     string           // unique for its site and kind; of a job the attempt's key
	Job    federation.JobID // 0: about none
	Closed time.Time
	Data   []byte // JSON
	// Payload is large and written once: nil leaves what is there. It is dropped when the record is closed.
	Payload []byte
}
