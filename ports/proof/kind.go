package proof

import (
	"bytes"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// The kinds of files.
const (
	KindBundle  = "bundle"
	KindReceipt = "receipt"
)

// Kind returns the kind of a file by its first 16 bytes, or "" if it is none.
func Kind(prefix []byte) string {
	switch {
	case bytes.HasPrefix(prefix, []byte(bundle.Opening)):
		return KindBundle
	case bytes.HasPrefix(prefix, []byte(receipt.Opening)):
		return KindReceipt
	case isEvidence(prefix):
		return KindEvidence
	}
	return ""
}
