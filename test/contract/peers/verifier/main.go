// Judges tokens of EKS clusters as the cluster does: with the verifier of aws-iam-authenticator.
//
//	verifier STS-URL
//
// Each line that it reads is PARTITION REGION CLUSTER TOKEN; each line that it writes is JSON, the
// identity or {"Error": …}. What the verifier sends to an STS goes to STS-URL, with the host that
// it was meant for in the header Host.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"sigs.k8s.io/aws-iam-authenticator/pkg/token"
)

// redirect sends every request to one address, signed host and all.
type redirect struct {
	to   *url.URL
	next http.RoundTripper
}

func (r redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := request.Clone(request.Context())
	sent.Host = request.URL.Host
	sent.URL.Scheme, sent.URL.Host = r.to.Scheme, r.to.Host
	return r.next.RoundTrip(sent)
}

func judge(line string) any {
	words := strings.SplitN(line, " ", 4)
	if len(words) != 4 {
		log.Fatalf("not PARTITION REGION CLUSTER TOKEN: %q", line)
	}
	identity, err := token.NewVerifier(words[2], words[0], words[1]).Verify(words[3])
	if err != nil {
		return map[string]string{"Error": err.Error()}
	}
	return identity
}

func main() {
	sts, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	logrus.SetOutput(io.Discard)
	http.DefaultTransport = redirect{sts, http.DefaultTransport}
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(judge(lines.Text())); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
