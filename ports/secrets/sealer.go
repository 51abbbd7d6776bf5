package secrets

import (
	"context"

	"github.com/writ-automation/writ/ports/fault"
)

// Sealer keeps texts that have to be read again. Each is encrypted under a data key of its own, which is kept beside it under the
// install's key-encryption key; the record's name is bound in, so that what was sealed for one record opens for no other one.
type Sealer interface {
	// Seal returns the sealed form, which names the key-encryption key by its id.
	Seal(ctx context.Context, record string, plain []byte) ([]byte, error)
	// Open returns the text. KeyLost where the key-encryption key is not at hand; an Internal fault for anything that was altered or
	// was sealed for another record.
	Open(ctx context.Context, record string, sealed []byte) ([]byte, error)
}

// KeyLost is the fault of a secret whose key-encryption key this install does not have.
var KeyLost = fault.Code{Name: "key_lost", Kind: fault.Conflict}

// Codes lists every fault of this context.
func Codes() []fault.Code { return []fault.Code{KeyLost} }
