package govaluate

import (
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
)

// maxDepth bounds how deep an expression may be nested.
const maxDepth = 100

// parser reads an expression by recursive descent. An error of it is a panic with an error, which
// NewEvaluableExpressionWithFunctions recovers.
type parser struct {
	scan      scanner.Scanner
	token     rune
	functions map[string]ExpressionFunction
	depth     int
}

// syntax is an error of an expression.
type syntax struct{ error }

func (p *parser) fail(format string, args ...any) {
	panic(syntax{fmt.Errorf("matcher: %s: "+format, append([]any{p.scan.Position}, args...)...)})
}

func (p *parser) next() { p.token = p.scan.Scan() }

// accept skips a token if it is the next one. An operator of two equal characters has the first one as its token.
func (p *parser) accept(token rune, twice bool) bool {
	if p.token != token {
		return false
	}
	if twice {
		if p.scan.Peek() != token {
			p.fail("unexpected %q", token)
		}
		p.scan.Next()
	}
	p.next()
	return true
}

// or reads alternatives, which bind the least.
func (p *parser) or() node {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	left := p.and()
	for p.accept('|', true) {
		left = logical(left, p.and(), true)
	}
	return left
}

func (p *parser) and() node {
	left := p.equality()
	for p.accept('&', true) {
		left = logical(left, p.equality(), false)
	}
	return left
}

func (p *parser) equality() node {
	left := p.unary()
	switch {
	case p.token == '!' && p.scan.Peek() == '=':
		p.scan.Next()
		p.next()
		return not(equal(left, p.unary()))
	case p.accept('=', true):
		return equal(left, p.unary())
	}
	return left
}

func (p *parser) unary() node {
	negated := false
	for p.token == '!' {
		negated = !negated
		p.next()
	}
	n := p.operand()
	if negated {
		return not(n)
	}
	return n
}

func (p *parser) operand() node {
	text := p.scan.TokenText()
	switch p.token {
	case '(':
		p.next()
		n := p.or()
		p.close()
		return n
	case scanner.String:
		s, err := strconv.Unquote(text)
		if err != nil {
			p.fail("%w", err)
		}
		p.next()
		return constant(s)
	case scanner.Ident:
		p.next()
		if p.token != '(' {
			return parameter(text)
		}
		return p.call(text)
	}
	p.fail("unexpected %q", text)
	return nil
}

func (p *parser) close() {
	if !p.accept(')', false) {
		p.fail("expected a closing parenthesis before %q", p.scan.TokenText())
	}
}

func (p *parser) call(name string) node {
	f := p.functions[name]
	if f == nil {
		p.fail("there is no function %q", name)
	}
	p.next()
	var args []node
	for p.token != ')' {
		args = append(args, p.or())
		if !p.accept(',', false) {
			break
		}
	}
	p.close()
	return call(name, f, args)
}

func parse(expression string, functions map[string]ExpressionFunction) (n node, err error) {
	p := &parser{functions: functions}
	p.scan.Init(strings.NewReader(expression))
	p.scan.Mode = scanner.ScanIdents | scanner.ScanStrings
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntax:
			err = r.error
		default:
			panic(r)
		}
	}()
	p.scan.Error = func(_ *scanner.Scanner, message string) { p.fail("%s", message) }
	p.next()
	n = p.or()
	if p.token != scanner.EOF {
		p.fail("unexpected %q", p.scan.TokenText())
	}
	return n, nil
}
