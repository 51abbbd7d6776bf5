package audit

import "context"

// Admin manages the keys, anchors and private parts of the chain. Each change has an entry.
type Admin interface {
	// Anchor signs the current head and stores it as an anchor; by adds the anchors of outsiders.
	Anchor(ctx context.Context, by AnchorRequest) ([]Anchor, error)
	// Erase deletes the private parts of entries. The ground is a legal code such as gdpr_17, [a-z0-9_.-]{1,64}.
	// If the chain lacks one of the entries, the error is EntryNotFound, and nothing is erased.
	Erase(ctx context.Context, seqs []int64, ground string) error
	// AcceptRollback begins a new epoch if the chain does not satisfy a seen head; otherwise it fails with
	// NotRolledBack.
	AcceptRollback(ctx context.Context, reason string) (Epoch, error)
	// Keys returns the install's keys.
	Keys(ctx context.Context) ([]PublicKey, error)
	// Rotate creates a new pair of signing keys and hands over to them: the old keys sign nothing beyond the current
	// size. It calls keep with the new contents of signing.key before the unit commits.
	Rotate(ctx context.Context, keep func(pem []byte) error) ([]PublicKey, error)
}

// AnchorRequest lists the outsiders that get the head. A nil member is left out.
type AnchorRequest struct {
	TimeStamper TimeStamper
	Witness     Witness
	HeadFile    HeadFile
}
