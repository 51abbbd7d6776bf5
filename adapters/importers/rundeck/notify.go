package rundeck

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// target is a receiver of notifications and the events that it wants.
type target struct {
	importer.Notification
	failure, success bool
	at               string
}

// notifications reads the receivers of the events of a job.
func (j *job) notifications(f fields) {
	var targets []*target
	for _, event := range []string{"onsuccess", "onfailure"} {
		of := f.object(event)
		for _, n := range j.targets(of, "notification."+event) {
			i := slices.IndexFunc(targets, func(t *target) bool { return t.Notification == n })
			if i < 0 {
				i = len(targets)
				targets = append(targets, &target{Notification: n, at: "notification." + event})
			}
			targets[i].failure = targets[i].failure || event == "onfailure"
			targets[i].success = targets[i].success || event == "onsuccess"
		}
	}
	for _, event := range []string{"onstart", "onavgduration", "onretryablefailure"} {
		if set(f.take(event)) {
			j.warn("notification."+event, "nobody is notified of this event: a template notifies when a run ends")
		}
	}
	j.lost(f, "notification")
	for _, t := range targets {
		if !t.failure {
			j.warn(t.at, "the receiver (%s) is notified of failures too: there is no notification of successes alone", t.Kind)
		}
		t.OnFailure = !t.success
		j.spec.Notifications = append(j.spec.Notifications, t.Notification)
		when := "when a run has ended"
		if t.OnFailure {
			when = "when a run has failed"
		}
		j.say("A notification of the kind %s is sent %s.", t.Kind, when)
	}
}

func (j *job) targets(f fields, at string) []importer.Notification {
	var out []importer.Notification
	if email := f.take("email"); set(email) {
		mailTo := asFields(email)
		if mailTo == nil {
			mailTo = fields{"recipients": email}
		}
		out = append(out, j.email(mailTo, at+".email")...)
	}
	addresses := commaList(f.take("urls"), ",")
	for _, hook := range f.list("webhook") {
		if o := asFields(hook); o != nil {
			addresses = append(addresses, commaList(o.take("urls"), ",")...)
		} else {
			addresses = append(addresses, commaList(hook, ",")...)
		}
	}
	for _, address := range addresses {
		if clean := j.address(address, at+".urls"); clean != "" {
			j.warnOnce(at+".urls", "a webhook gets the record of the run as Writ writes it, which is not that of Rundeck")
			out = append(out, importer.Notification{Kind: "webhook", URL: clean})
		}
	}
	f.drop("format", "httpMethod")
	for _, p := range f.list("plugin") {
		if n, ok := j.pluginTarget(asFields(p), at+".plugin"); ok {
			out = append(out, n)
		}
	}
	j.lost(f, at)
	return out
}

// email returns the target of a mail, without recipients that depend on a run.
func (j *job) email(f fields, at string) []importer.Notification {
	var to []string
	for _, r := range commaList(f.take("recipients"), ",") {
		if a, err := mail.ParseAddress(r); err == nil && len(a.Address) <= 254 && !strings.ContainsAny(a.Address, "\" ") {
			to = append(to, a.Address)
		} else {
			j.warn(at+".recipients", "a recipient is no plain mail address, and is left out")
		}
	}
	if set(f.take("subject")) {
		j.warn(at+".subject", "the subject is that of the server")
	}
	j.lost(f, at)
	if text := strings.Join(to, ","); len(to) > 0 && len(to) <= 100 && len(text) <= 4096 {
		return []importer.Notification{{Kind: "email", To: text}}
	}
	j.warn(at, "no mail is sent: it has no recipients, or too many")
	return nil
}

// address returns an address without the parts that Rundeck fills in, empty if nothing can be sent there. Messages do
// not show it, since it may hold a secret.
func (j *job) address(text, at string) string {
	u, err := url.Parse(text)
	if err != nil {
		j.warn(at, "an address is not valid, and is left out")
		return ""
	}
	if q := u.Query(); strings.Contains(u.RawQuery, "$") {
		for name, values := range q {
			if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "${") }) {
				q.Del(name)
			}
		}
		u.RawQuery = q.Encode()
		j.warn(at, "parameters of an address that Rundeck fills in are left out: the body tells the same")
	}
	out := importer.Notification{Kind: "webhook", URL: u.String()}
	if strings.ContainsAny(u.Host+u.Path+u.Fragment, "${}") ||
		len(notify.Check(runs.Notification{Kind: out.Kind, URL: out.URL})) > 0 {
		j.warn(at, "an address is not a plain one of http or https, and is left out")
		return ""
	}
	return out.URL
}

// pluginTarget returns the target of a plugin, if its kind has a counterpart and an address.
func (j *job) pluginTarget(f fields, at string) (importer.Notification, bool) {
	name := f.text("type")
	config := f.object("configuration")
	lower := strings.ToLower(name)
	kind := ""
	for _, k := range []string{"slack", "mattermost", "rocketchat", "discord", "teams", "http", "webhook"} {
		if strings.Contains(lower, k) {
			kind = k
			break
		}
	}
	if kind == "http" {
		kind = "webhook"
	}
	if kind != "" {
		for _, member := range config.rest() {
			if v := config.peek(member); strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "http://") {
				if clean := j.address(v, at); clean != "" {
					j.warn(at, "the notification of the plugin %s is one of the kind %s; its other settings are not kept",
						oneLine(name), kind)
					return importer.Notification{Kind: kind, URL: clean}, true
				}
			}
		}
	}
	j.warn(at, "the notification of the plugin %s is not kept: it has no counterpart with an address", oneLine(name))
	return importer.Notification{}, false
}
