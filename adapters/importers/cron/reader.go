package cron

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// reader reads a crontab from its first line to its last.
type reader struct {
	ctx    context.Context
	now    time.Time
	file   string // its name without a directory, "." for none
	system bool   // the jobs have a column with accounts
	how    string // why that was found out, empty if it was told
	owner  string // the account of all jobs, empty if it is not known
	draft  draft.Builder

	vars        []setting // that hold now
	size        int       // bytes of vars
	scripts     int       // bytes of all scripts
	titles      map[string]int
	credentials map[secret]string
}

// setting is a variable that holds for the jobs below it.
type setting struct {
	name, value string
	line        int
	used        bool   // a job is below it
	secret      bool   // the value is left out
	export      string // the line of a script that sets it
}

// secret identifies the credential that takes the place of a secret of the crontab.
type secret struct{ env, value string }

func (r *reader) line(l *line) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	switch {
	case l.unknown && l.name != "":
		r.skipLine(l, "the line sets what is not the name of a variable")
	case l.unknown:
		r.skipLine(l, "the line is neither a variable nor a job")
	case l.name != "":
		return r.set(l)
	default:
		return r.job(l)
	}
	return nil
}

// set makes a variable hold from a line on.
func (r *reader) set(l *line) error {
	r.size += len(l.name) + len(l.value)
	if i := slices.IndexFunc(r.vars, func(v setting) bool { return v.name == l.name }); i >= 0 {
		r.unused(r.vars[i])
		r.size -= len(r.vars[i].name) + len(r.vars[i].value)
		r.vars = slices.Delete(r.vars, i, i+1)
	}
	if r.size > maxVars {
		return malformed(l.number, "the variables have more than %d KiB", maxVars>>10)
	}
	r.vars = append(r.vars, setting{
		name: l.name, value: l.value, line: l.number,
		secret: looksSecret(l.name, l.value), export: "export " + l.name + "=" + quoted(l.value) + "\n",
	})
	return nil
}

// unused adds a variable that no job has as an object that is not written.
func (r *reader) unused(v setting) {
	if !v.used {
		r.draft.Skip("variable", v.name, ref(v.line), "no job is below the line that sets it")
	}
}

// leftover adds what the end of the crontab leaves without a job.
func (r *reader) leftover() {
	for _, v := range r.vars {
		r.unused(v)
	}
}

// value returns the value of a variable that holds now.
func (r *reader) value(name string) (string, bool) {
	for i := range r.vars {
		if r.vars[i].name == name {
			return r.vars[i].value, true
		}
	}
	return "", false
}

// mail returns the targets of notifications that MAILTO names.
func (r *reader) mail(t *importer.Object) []importer.Notification {
	value, ok := r.value("MAILTO")
	if !ok || value == "" {
		return nil
	}
	var to []string
	for part := range strings.SplitSeq(value, ",") {
		if a, err := mail.ParseAddress(strings.TrimSpace(part)); err == nil {
			to = append(to, a.Address)
		} else {
			warn(t, "MAILTO", "a recipient is no mail address, so nothing is sent to it")
		}
	}
	if len(to) == 0 {
		return nil
	}
	warn(t, "MAILTO", "mail is sent when a run fails; cron sent it whenever the job had output")
	return []importer.Notification{{Kind: "email", To: strings.Join(to, ", "), OnFailure: true}}
}

// zone returns the zone in which the times count: that of CRON_TZ, otherwise that of the server.
func (r *reader) zone() (string, *time.Location, error) {
	name, ok := r.value("CRON_TZ")
	if !ok || name == "" {
		return "", r.now.Location(), nil
	}
	loc, err := crontime.Zone(name)
	return name, loc, err
}

var (
	heading = lazyregexp.New(`(?i)^(?:\*|m|min|minutes?)\b.*\b(?:dow|wday|weekday|day of week|command|cmd)\b`)
	letters = lazyregexp.New(`[\p{L}\d]`)
	telling = lazyregexp.New(`(?i)(?:pass|pwd|secret|token|key|credential)\w*\s*(?:[:=]|\bis\b)`)
	program = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$`)
	between = strings.NewReplacer("&&", "\n", ";", "\n", "||", "\n", "|", "\n", "{", "\n", "(", "\n")
)

// title returns a name for a job: the comment right above it, otherwise the program that it starts.
func (r *reader) title(l *line, command string) string {
	title := "job"
	if text := caption(l.comments); text != "" {
		title = text
	} else if p := starts(command); p != "" {
		title = p
	}
	if r.titles == nil {
		r.titles = map[string]int{}
	}
	if r.titles[title]++; r.titles[title] > 1 {
		title = cut(title, 150) + " (" + itoa(r.titles[title]) + ")"
	}
	return title
}

// caption returns the first line of a comment that is text: no job that is switched off and no heads of columns.
func caption(comments []string) string {
	for _, c := range comments {
		text := strings.TrimSpace(strings.Trim(c, "#-=*~ \t"))
		if !letters.MatchString(text) || heading.MatchString(text) || telling.MatchString(text) || holdsSecret(text) {
			continue
		}
		if l := parse(0, strings.TrimSpace(strings.TrimLeft(c, "# \t"))); l.name != "" {
			continue
		} else if _, err := crontime.ParseUnix(l.when); err == nil {
			continue
		}
		return cut(text, 120)
	}
	return ""
}

// starts returns the name of the program that a command starts, empty if it cannot be told.
func starts(command string) string {
	for part := range strings.SplitSeq(between.Replace(cut(command, 4096)), "\n") {
		for _, word := range strings.Fields(part) {
			base := word[strings.LastIndexByte(word, '/')+1:]
			switch base {
			case "env", "exec", "nohup", "sudo", "nice", "ionice", "time", "command", "if", "then", "!", "sh", "bash", "perl",
				"php", "python", "python2", "python3", "ruby", "node":
				continue
			}
			if strings.Contains(word, "=") || word[0] == '-' || word[0] == '$' && !strings.Contains(word, "/") {
				continue
			}
			if base == "cd" || base == "export" || base == "set" || base == "test" || base == "[" || base == "sleep" {
				break
			}
			if program.MatchString(base) && !strings.ContainsAny(word, "@:") {
				return base
			}
			break
		}
	}
	return ""
}
