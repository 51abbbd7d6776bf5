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
	"github.com/writ-automation/writ/ports/plaintext"
)

// webhook sends the record of a run to an address of the receiver's own.
type webhook struct{ post *poster }

var _ notify.Channel = (*webhook)(nil)

func (*webhook) Kind() string { return "webhook" }

// Deliver posts the record with the member event, signed if the target has a key.
func (c *webhook) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	body, err := withEvent(m)
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

// withEvent adds the members event and drift in front of those of the record.
func withEvent(m notify.Message) (out []byte, err error) {
	out = m.Record
	if m.Drift != nil {
		d := *m.Drift
		d.Playbook, d.Hosts = plaintext.Line(d.Playbook, maxSentence), append([]string{}, d.Hosts...)
		for i := range d.Hosts {
			d.Hosts[i] = plaintext.Line(d.Hosts[i], maxSentence)
		}
		if out, err = lead("drift", d, out); err != nil {
			return nil, err
		}
	}
	return lead("event", string(m.Event), out)
}

// lead adds a member in front of those of a record, which keep their order and their digits.
func lead(name string, value any, record json.RawMessage) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil || members == nil {
		return nil, fault.Wrap(fault.Internal, nil, "the record of the run is not a JSON object")
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "make the webhook message")
	}
	if _, taken := members[name]; taken || len(members) == 0 {
		members[name] = raw
		return json.Marshal(members)
	}
	out := append([]byte(`{"`+name+`":`), raw...)
	return append(append(out, ','), bytes.TrimSpace(record)[1:]...), nil
}
