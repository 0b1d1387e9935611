package leader

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"fmt"
)

// Sealed keeps in the database what all daemons need and nobody else may read, such as the keys by which machines know them. It is encrypted with a key that
// follows from the daemons' secret, and bound to its name.
type Sealed struct {
	db  *sql.DB
	box cipher.AEAD
}

// NewSealed returns what is sealed with a secret in a database that has [Schema].
func NewSealed(db *sql.DB, secret []byte) (*Sealed, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "fsub: what the daemons keep in the database", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	return &Sealed{db, box}, err
}

// All returns everything that is kept, by name.
func (s *Sealed) All(ctx context.Context) (map[string][]byte, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT name, value FROM sealed`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]byte{}
	for rows.Next() {
		var name string
		var value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if all[name], err = s.box.Open(nil, nil, value, []byte(name)); err != nil {
			return nil, fmt.Errorf("%s in the database was sealed with another secret: all daemons must have the same secret_file", name)
		}
	}
	return all, rows.Err()
}

// Put keeps a value under a name while an epoch lasts. ErrLost: it is over.
func (s *Sealed) Put(ctx context.Context, epoch int64, name string, value []byte) error {
	return Postgres{s.db}.Fenced(ctx, epoch, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sealed (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			name, s.box.Seal(nil, nil, value, []byte(name)))
		return err
	})
}
