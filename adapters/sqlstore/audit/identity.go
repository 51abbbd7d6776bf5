package audit

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// Install implements audit.IdentityStore. There is a row to hold before there is an id.
func (s *Store) Install(ctx context.Context) (string, error) {
	query := "SELECT name FROM audit_install WHERE id = 1"
	if _, err := s.d.Write(ctx); err == nil {
		query += s.say.ForUpdate()
	}
	id, ok, err := db.One(ctx, s.d.Read(ctx), func(r db.Row) (id string, err error) { return id, r.Scan(&id) }, query)
	if err == nil && !ok {
		err = internal("the row of the install is gone")
	}
	if err != nil {
		return "", fmt.Errorf("read the id of the install: %w", err)
	}
	return id, nil
}

// SetInstall implements audit.IdentityStore. An install keeps its id: another one is a Conflict, and so is the same again.
func (s *Store) SetInstall(ctx context.Context, id string) error {
	if id == "" || !text(id) {
		return internal("%q is no id of an install", id)
	}
	n, err := s.exec(ctx, "UPDATE audit_install SET name = ? WHERE id = 1 AND name = ''", id)
	if err != nil {
		return fmt.Errorf("name the install: %w", err)
	}
	if n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the install has an id"}
	}
	return nil
}

// Keys implements audit.IdentityStore.
func (s *Store) Keys(ctx context.Context) ([]audit.PublicKey, error) {
	keys, err := db.All(ctx, s.d.Read(ctx), func(r db.Row) (k audit.PublicKey, err error) {
		var since db.Time
		err = r.Scan(&k.KID, &k.Use, &k.Public, &k.Status, &since, &k.FirstSize, &k.LastSize, &k.TrustedSize, &k.Handover)
		k.NotBefore = since.Time
		return k, err
	}, "SELECT kid, use, public, status, not_before, first_size, last_size, trusted_size, handover FROM audit_keys ORDER BY pos")
	if err != nil {
		return nil, fmt.Errorf("read the signing keys: %w", err)
	}
	return keys, nil
}

// PutKey implements audit.IdentityStore. What no column of text keeps byte for byte is an Internal fault.
func (s *Store) PutKey(ctx context.Context, k audit.PublicKey) error {
	if k.KID == "" || !text(k.KID) || !text(k.Use) || !text(k.Status) || !text(k.Handover) {
		return internal("key %q holds what is no text", k.KID)
	}
	if k.Public == nil {
		k.Public = []byte{}
	}
	if _, err := s.exec(ctx, "INSERT INTO audit_keys (kid, use, public, status, not_before, first_size, last_size, trusted_size, handover) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kid) DO UPDATE SET use = excluded.use, public = excluded.public, "+
		"status = excluded.status, not_before = excluded.not_before, first_size = excluded.first_size, last_size = excluded.last_size, "+
		"trusted_size = excluded.trusted_size, handover = excluded.handover",
		k.KID, k.Use, k.Public, k.Status, db.At(k.NotBefore), k.FirstSize, k.LastSize, k.TrustedSize, k.Handover); err != nil {
		return fmt.Errorf("keep signing key %s: %w", k.KID, err)
	}
	return nil
}

// Epochs implements audit.IdentityStore.
func (s *Store) Epochs(ctx context.Context) ([]audit.Epoch, error) {
	epochs, err := db.All(ctx, s.d.Read(ctx), func(r db.Row) (e audit.Epoch, err error) {
		return e, r.Scan(&e.N, &e.Origin, &e.FirstSeq, &e.Closed, &e.LastSize, (*digest)(&e.LastRoot), &e.Reason)
	}, "SELECT n, origin, first_seq, closed, last_size, last_root, reason FROM audit_epochs ORDER BY n")
	if err != nil {
		return nil, fmt.Errorf("read the epochs: %w", err)
	}
	return epochs, nil
}

// PutEpoch implements audit.IdentityStore. What no column of text keeps byte for byte is an Internal fault.
func (s *Store) PutEpoch(ctx context.Context, e audit.Epoch) error {
	if !text(e.Origin) || !text(e.Reason) {
		return internal("epoch %d holds what is no text", e.N)
	}
	if _, err := s.exec(ctx, "INSERT INTO audit_epochs (n, origin, first_seq, closed, last_size, last_root, reason) VALUES (?, ?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (n) DO UPDATE SET origin = excluded.origin, first_seq = excluded.first_seq, closed = excluded.closed, "+
		"last_size = excluded.last_size, last_root = excluded.last_root, reason = excluded.reason",
		e.N, e.Origin, e.FirstSeq, e.Closed, e.LastSize, e.LastRoot[:], e.Reason); err != nil {
		return fmt.Errorf("keep epoch %d: %w", e.N, err)
	}
	return nil
}
