package audit

import "context"

// Admin looks after the chain's keys, anchors and private parts. Each change has an entry.
type Admin interface {
	// Anchor signs the present head and keeps it as an anchor; by adds what outsiders say of it.
	Anchor(ctx context.Context, by AnchorRequest) ([]Anchor, error)
	// Erase drops the private parts of entries. The ground is a legal code such as gdpr_17, [a-z0-9_.-]{1,64}.
	// EntryNotFound names a number that the chain does not have, and nothing is erased then.
	Erase(ctx context.Context, seqs []int64, ground string) error
	// AcceptRollback begins a new epoch where the chain is behind a head that was seen, which is NotRolledBack otherwise.
	AcceptRollback(ctx context.Context, reason string) (Epoch, error)
	// Keys returns the install's keys.
	Keys(ctx context.Context) ([]PublicKey, error)
	// Rotate makes a new pair of signing keys and hands over to them: the old ones sign nothing beyond the present size.
	// It returns what belongs into signing.key, which the caller keeps before the unit commits through keep.
	Rotate(ctx context.Context, keep func(pem []byte) error) ([]PublicKey, error)
}

// AnchorRequest says who outside is to see the head.
type AnchorRequest struct {
	TimeStamper TimeStamper // nil: none
	Witness     Witness
	HeadFile    HeadFile
}
