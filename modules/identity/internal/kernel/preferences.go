package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Preferences returns the document of preferences without white space.
func Preferences(document json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, document); err != nil || b.Len() == 0 || b.Bytes()[0] != '{' {
		return nil, fault.BadField("body", "expected a JSON object")
	}
	if b.Len() > identity.MaxPreferences {
		return nil, (&fault.Error{Kind: fault.TooLarge,
			Message: fmt.Sprintf("preferences take at most %d bytes", identity.MaxPreferences)}).
			With("limit", identity.MaxPreferences)
	}
	return b.Bytes(), nil
}
