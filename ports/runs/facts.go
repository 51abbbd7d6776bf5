package runs

import (
	"context"
	"encoding/json"
	"time"
)

// MaxFacts bounds the facts of one host that were gathered at once, in bytes.
const MaxFacts = 1 << 20

// HostFacts is one host's gathered facts as one JSON object.
type HostFacts struct {
	Host       string
	GatheredAt time.Time
	Facts      json.RawMessage
}

// GatheredFacts are facts that a run stored, with what decides who may read them.
type GatheredFacts struct {
	HostFacts
	RunID string
	// Objects are those of the run. They are nil if it was deleted before they were kept with its facts.
	Objects []string
}

// FactQueue holds gathered facts until the estate has them. They outlive their run.
type FactQueue interface {
	// TakeFacts deletes and returns the facts that were gathered first, at most limit, and none after those that have
	// MaxFacts bytes together. Those that another unit takes are left to it. The unit that takes them must store them.
	TakeFacts(ctx context.Context, limit int) ([]GatheredFacts, error)
}
