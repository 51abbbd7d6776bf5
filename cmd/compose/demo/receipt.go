package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/writ-automation/writ/ports/audit"
)

// The files of receipts to try: that of a run which was rejected, and the same one with a forged word.
const (
	ReceiptFile = "receipt.json"
	ForgedFile  = "receipt-forged.json"
)

// WriteReceipts writes the receipt of a run as it is, and one in which the rejection of the run became an approval.
func WriteReceipts(ctx context.Context, p audit.Prover, run, dir string) error {
	good, err := p.Receipt(ctx, run, audit.ReceiptQuery{})
	if err != nil {
		return fmt.Errorf("make the receipt of %s: %w", run, err)
	}
	forged, err := forge(good.Body)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, ReceiptFile), good.Body, 0o600),
		os.WriteFile(filepath.Join(dir, ForgedFile), forged, 0o600))
}

// forge replaces a word within the signed payload of a receipt.
func forge(receipt []byte) ([]byte, error) {
	var envelope map[string]json.RawMessage
	var text string
	err := json.Unmarshal(receipt, &envelope)
	if err == nil {
		err = json.Unmarshal(envelope["payload"], &text)
	}
	if err != nil {
		return nil, fmt.Errorf("read a receipt: %w", err)
	}
	payload, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("read a receipt: %w", err)
	}
	other := bytes.Replace(payload, []byte(string(audit.RunReject)), []byte(string(audit.RunApprove)), 1)
	if bytes.Equal(other, payload) {
		return nil, errors.New("the receipt has no rejection")
	}
	envelope["payload"], err = json.Marshal(base64.StdEncoding.EncodeToString(other))
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope)
}
