package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secret"
)

// Where the secrets of the server's own accounts come from: never from a flag, which other users of the machine can
// see.
const (
	smtpPasswordEnv = "WRIT_SMTP_PASSWORD"
	twilioTokenEnv  = "WRIT_TWILIO_TOKEN"
)

// notifyFlags are the flags of who hears of every run, and of the accounts through which mail and messages go.
type notifyFlags struct {
	targets                          map[string]*[]string // by kind
	on                               string
	smtpAddr, smtpFrom, smtpUsername string
	twilioSID, twilioFrom            string
}

func (f *notifyFlags) register(fs *pflag.FlagSet) {
	f.targets = make(map[string]*[]string)
	for _, k := range notify.Kinds() {
		list := new([]string)
		f.targets[k.Name] = list
		fs.StringArrayVar(list, "notify-"+k.Name, nil, fmt.Sprintf("tell this %s of every run (repeatable)", target(k)))
	}
	fs.StringVar(&f.on, "notify-on", "finish", "which runs the server's own targets hear of: finish, or failure")
	fs.StringVar(&f.smtpAddr, "smtp-addr", "", "`host:port` of the mail server (port 465 speaks TLS from the start)")
	fs.StringVar(&f.smtpFrom, "smtp-from", "", "`address` that mail comes from")
	fs.StringVar(&f.smtpUsername, "smtp-username", "", "`account` at the mail server (its password: "+smtpPasswordEnv+")")
	fs.StringVar(&f.twilioSID, "twilio-sid", "", "`account` that sends SMS (its token: "+twilioTokenEnv+")")
	fs.StringVar(&f.twilioFrom, "twilio-from", "", "`number` or messaging service that SMS come from")
}

// target names what the flag of a kind takes.
func target(k notify.Kind) string {
	switch strings.Join(k.Required, ",") {
	case "url":
		return k.Name + " `URL`"
	case "key":
		return k.Name + " routing `KEY`"
	case "url,key":
		return k.Name + " `URL,KEY`"
	default:
		return k.Name + " recipient, `TO`"
	}
}

func (f *notifyFlags) apply(s *compose.Settings, w environment) error {
	n := compose.Notify{
		SMTP: compose.SMTP{
			Addr: f.smtpAddr, From: f.smtpFrom, Username: f.smtpUsername, Password: secret.Text(w.env(smtpPasswordEnv)),
		},
		Twilio: compose.Twilio{SID: f.twilioSID, From: f.twilioFrom, Token: secret.Text(w.env(twilioTokenEnv))},
	}
	switch f.on {
	case "finish":
	case "failure":
		n.OnFailure = true
	default:
		return fmt.Errorf("notify-on: expected finish or failure")
	}
	for _, k := range notify.Kinds() {
		for _, provided := range *f.targets[k.Name] {
			// A variable of the environment holds several on a line each.
			for text := range strings.Lines(provided) {
				if text = strings.TrimSpace(text); text == "" {
					continue
				}
				t, err := serverTarget(k, text)
				if err != nil {
					return err
				}
				n.Targets = append(n.Targets, t)
			}
		}
	}
	s.Notify = n
	return nil
}

// serverTarget reads the target of a flag. Its error shows nothing of the target.
func serverTarget(k notify.Kind, text string) (notify.Target, error) {
	t := notify.Target{Kind: k.Name}
	switch strings.Join(k.Required, ",") {
	case "url":
		t.URL = secret.Text(text)
	case "key":
		t.Key = secret.Text(text)
	case "url,key":
		at := strings.LastIndexByte(text, ',')
		if at < 0 {
			return t, fmt.Errorf("notify-%s: expected URL,KEY", k.Name)
		}
		t.URL, t.Key = secret.Text(text[:at]), secret.Text(text[at+1:])
	default:
		t.To = text
	}
	return t, nil
}
