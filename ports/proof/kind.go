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

// Kind tells what a file is by how it begins, empty for what is neither. It takes 16 bytes to tell.
func Kind(prefix []byte) string {
	switch {
	case bytes.HasPrefix(prefix, []byte(bundle.Opening)):
		return KindBundle
	case bytes.HasPrefix(prefix, []byte(receipt.Opening)):
		return KindReceipt
	}
	return ""
}
