package cron

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// line is a line that is not empty.
type line struct {
	number   int
	comments []string // right above it, at most maxComments

	name, value string // of a variable

	when    string // the five fields, or a word that begins with @
	rest    string // what follows, with the account
	silent  bool   // begins with the dash of SUSE
	unknown bool   // is none of these
}

func (l *line) job() bool { return l.when != "" }

var (
	assignment = lazyregexp.New(`^(?:"([^"=]*)"|'([^'=]*)'|([^\s"'=*@#]+))[ \t]*=[ \t]*`)
	variable   = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	timed      = lazyregexp.New(`^([0-9*]\S*[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+\S+)[ \t]+`)
	worded     = lazyregexp.New(`^(@\w+)[ \t]+`)
)

// maxComments is how many lines of a comment are read.
const maxComments = 20

// split returns the lines of a crontab that are neither empty nor comments.
func split(body string) ([]line, error) {
	var out []line
	var comments []string
	number := 0
	for text := range strings.SplitSeq(body, "\n") {
		number++
		text = strings.TrimLeft(strings.TrimRight(text, "\r"), " \t")
		switch {
		case strings.TrimSpace(text) == "":
			comments = nil
			continue
		case text[0] == '#':
			if len(comments) < maxComments {
				comments = append(comments, text)
			}
			continue
		case len(out) == maxLines:
			return nil, malformed(number, "the crontab has more than %d lines that are no comments", maxLines)
		}
		if unit.MatchString(text) {
			return nil, malformed(number, "this is a systemd unit and not a crontab")
		}
		l := parse(number, text)
		l.comments, comments = comments, nil
		out = append(out, l)
	}
	return out, nil
}

// parse parses a line that is neither empty nor a comment.
func parse(number int, text string) line {
	l := line{number: number}
	if m := assignment.FindStringSubmatch(text); m != nil {
		l.name, l.value = m[1]+m[2]+m[3], unquote(strings.TrimRight(text[len(m[0]):], " \t"))
		l.unknown = !variable.MatchString(l.name)
		return l
	}
	if len(text) > 1 && text[0] == '-' && (text[1] == '*' || text[1] >= '0' && text[1] <= '9') {
		l.silent, text = true, text[1:]
	}
	m := timed.FindStringSubmatch(text)
	if m == nil {
		m = worded.FindStringSubmatch(text)
	}
	if m == nil || len(m[0]) == len(text) {
		l.unknown = true
		return l
	}
	l.when, l.rest = strings.Join(strings.Fields(m[1]), " "), text[len(m[0]):]
	return l
}

// unquote returns a value without the quotes around it.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

var (
	unit     = lazyregexp.New(`^\[[A-Za-z-]+\][ \t]*$`)
	anacron  = lazyregexp.New(`^(?:\d+|@\w+)\s+\d+\s+[A-Za-z][\w.-]{2,}\s+\S`)
	pastDays = lazyregexp.New(`^\S+\s+\S+\s+(\S+)`)
)

// other refuses files that look like a crontab and are something else.
func other(lines []line) error {
	period := 0
	if len(lines) > 0 && !slices.ContainsFunc(lines, func(l line) bool { return !l.unknown }) {
		return malformed(lines[0].number, "this is no crontab: no line is a variable or a job")
	}
	for i := range lines {
		l := &lines[i]
		if l.name == "START_HOURS_RANGE" {
			return malformed(l.number, "this is an anacrontab and not a crontab")
		}
		if l.job() {
			text := cut(l.when+" "+cut(l.rest, 1024), 1024)
			if m := pastDays.FindStringSubmatch(text); !anacron.MatchString(text) || m != nil && isDay(m[1]) {
				return nil
			}
			period = l.number
		}
	}
	if period > 0 {
		return malformed(period, "this is an anacrontab and not a crontab")
	}
	return nil
}

func isDay(text string) bool {
	_, err := crontime.Day.Parse(text)
	return err == nil
}

// accounts are names of accounts that are no commands.
const accounts = " root daemon bin sys adm lp nobody nogroup operator www-data www apache nginx http httpd postgres " +
	"mysql mariadb redis mongodb elasticsearch logcheck munin nagios icinga zabbix prometheus grafana jenkins gitlab " +
	"gitea tomcat jetty ubuntu debian ec2-user centos vagrant deploy deployer list uucp ftp asterisk amavis clamav " +
	"vmail dovecot postfix smmsp statd ntp nextcloud backuppc backupuser cronuser oracle splunk "

// commands are names of commands with which jobs begin.
const commands = " awk bash bundle cat cd certbot chmod chown composer cp curl date dd df docker drush echo env exec " +
	"export find flock git grep ionice kill logger ls make mkdir mv mysql mysqldump nice node nohup npm ntpdate perl " +
	"pg_dump php pkill python python2 python3 rake reboot rm rsync ruby run-parts scp sed service set " +
	"sh shutdown sleep ssh " +
	"sudo systemctl tar test timeout touch true wget which wp "

var account = lazyregexp.New(`^[a-z_][a-z0-9_-]{0,31}\$?$`)

// layout decides whether the jobs have a column with accounts.
func (r *reader) layout(e importer.Export, lines []line) {
	dir, base := "", strings.ReplaceAll(e.File, `\`, "/")
	if i := strings.LastIndexByte(base, '/'); i >= 0 {
		dir, base = base[:i], base[i+1:]
	}
	spool := strings.HasSuffix(dir, "/crontabs") || strings.HasSuffix(dir, "spool/cron") || strings.HasSuffix(dir, "/tabs")
	switch {
	case e.System != nil:
		r.system = *e.System
	case spool:
		r.how = "The directory of the file is that of the crontabs of users, which have no column with accounts."
	case strings.HasSuffix(dir, "cron.d") || base == "crontab" && strings.HasSuffix(dir, "/etc"):
		r.system = true
		r.how = "The directory of the file is that of the crontabs of systems, which have a column with accounts."
	case columned(lines):
		r.system, r.how = true, "The sixth column looks like one with accounts; tell the layout of the crontab if it is not."
	default:
		r.how = "The sixth column looks like a command and not like an account; tell the layout of the crontab if it is not."
	}
	if root := strings.TrimSuffix(base, ".crontab"); !r.system && (root == "root" || spool && account.MatchString(base)) {
		r.owner = root
	}
}

// columned reports whether every job has what could be an account after its fields, and one is certainly an account.
func columned(lines []line) bool {
	certain := false
	for i := range lines {
		if !lines[i].job() {
			continue
		}
		words := strings.Fields(cut(lines[i].rest, 1024))
		if len(words) < 2 || !account.MatchString(words[0]) || listed(commands, words[0]) {
			return false
		}
		certain = certain || listed(accounts, words[0]) || listed(commands, words[1])
	}
	return certain
}

func listed(list, word string) bool { return strings.Contains(list, " "+word+" ") }

// cut returns at most n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }

func itoa(n int) string { return strconv.Itoa(n) }
