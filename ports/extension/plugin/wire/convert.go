package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/writ-automation/writ/ports/extension"
)

// FromRun returns the message of a run for a notifier.
func FromRun(notifier string, r extension.EndedRun) *EndedRun {
	return &EndedRun{
		Notifier: notifier, Delivery: text(r.Delivery), Id: text(r.ID), Name: text(r.Name), Tool: text(r.Tool),
		Status: text(r.Status), Error: text(r.Error), StartedAt: fromTime(r.StartedAt), EndedAt: fromTime(r.EndedAt),
		Record: r.Record,
	}
}

// ToRun returns the run of a message.
func ToRun(m *EndedRun) extension.EndedRun {
	return extension.EndedRun{
		Delivery: m.GetDelivery(), ID: m.GetId(), Name: m.GetName(), Tool: m.GetTool(), Status: m.GetStatus(),
		Error: m.GetError(), StartedAt: toTime(m.GetStartedAt()), EndedAt: toTime(m.GetEndedAt()), Record: m.GetRecord(),
	}
}

// text replaces what is no UTF-8, which a message cannot hold.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func fromTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func toTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// FromConfig returns the JSON of a config or of variables.
func FromConfig(config map[string]any) ([]byte, error) {
	b, err := json.Marshal(config)
	if err != nil {
		return nil, errors.New("a value of the config has no JSON")
	}
	return b, nil
}

// ToConfig returns the config of its JSON. Its numbers are json.Number, so that none loses a digit.
func ToConfig(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, errors.New("the config is no JSON object")
	}
	return out, nil
}

// maxShort is how many bytes of a plugin's message are kept.
const maxShort = 1000

// Short returns a message of a plugin as one bounded line without control characters.
func Short(s string) string {
	if len(s) > maxShort {
		s = strings.ToValidUTF8(s[:maxShort], "") + "..."
	}
	return strings.Join(strings.FieldsFunc(text(s), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }), " ")
}

// Strict returns an error for a message with members that the protocol does not have.
func Strict(m proto.Message) error { return strict(m.ProtoReflect()) }

func strict(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("its answer has unknown members of %s", m.Descriptor().Name())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				if err = strict(v.List().Get(i).Message()); err != nil {
					return false
				}
			}
		default:
			err = strict(v.Message())
		}
		return err == nil
	})
	return err
}
