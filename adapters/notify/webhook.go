package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
)

// webhook sends the record of a run to an address of the receiver's own.
type webhook struct{ post *poster }

var _ notify.Channel = (*webhook)(nil)

func (*webhook) Kind() string { return "webhook" }

// Deliver posts the record with the member event, signed if the target has a key.
func (c *webhook) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	body, err := withEvent(m.Record, m.Event)
	if err != nil {
		return err
	}
	r := request{
		kind: c.Kind(), address: to.URL.Reveal(), media: "application/json", body: body, secrets: []string{to.Key.Reveal()},
		header: map[string]string{"Writ-Event": headerToken(string(m.Event)), "Writ-Delivery": headerToken(m.Delivery)},
	}
	if to.Key != "" {
		mac := hmac.New(sha256.New, []byte(to.Key.Reveal()))
		mac.Write(body)
		r.header["Writ-Signature"] = "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	return c.post.send(ctx, r)
}

// withEvent adds the member event in front of those of a record, which keep their order and their digits.
func withEvent(record json.RawMessage, e notify.Event) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil || members == nil {
		return nil, fault.Wrap(fault.Internal, nil, "the record of the run is not a JSON object")
	}
	name, err := json.Marshal(string(e))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "make the webhook message")
	}
	if _, taken := members["event"]; taken || len(members) == 0 {
		members["event"] = name
		return json.Marshal(members)
	}
	out := append([]byte(`{"event":`), name...)
	return append(append(out, ','), bytes.TrimSpace(record)[1:]...), nil
}
