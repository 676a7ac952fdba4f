// labdevice is a device plugin without devices: it registers the resource that LAB_RESOURCE names
// with the kubelet, as the NVIDIA and EFA plugins do on nodes that have the hardware.
//
// How many there are is in the file lab/RESOURCE (slashes as dashes) of the node's folder of device
// plugins, so that one image serves nodes of different kinds; without that file there are none.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	resource string
	devices  []*api.Device
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch sends the list once: these devices never change.
func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate tells the container in its environment which devices it got.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	name := strings.ToUpper(strings.NewReplacer(".", "_", "/", "_").Replace(p.resource))
	for _, c := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"LAB_" + name: strings.Join(c.DevicesIds, ",")},
		})
	}
	return response, nil
}

func count(resource string) (int, error) {
	text, err := os.ReadFile(api.DevicePluginPath + "lab/" + strings.ReplaceAll(resource, "/", "-"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func register(resource, endpoint string) error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource,
	})
	return err
}

func serve(resource string) error {
	n, err := count(resource)
	if err != nil {
		return err
	}
	p := &plugin{resource: resource}
	for i := 0; i < n; i++ {
		p.devices = append(p.devices, &api.Device{ID: fmt.Sprintf("lab-%d", i), Health: api.Healthy})
	}
	endpoint := "lab-" + strings.ReplaceAll(resource, "/", "-") + ".sock"
	socket := filepath.Join(api.DevicePluginPath, endpoint)
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := register(resource, endpoint); err != nil {
		return err
	}
	log.Printf("registered %s with %d devices", resource, n)
	return <-failed
}

func main() {
	resource := os.Getenv("LAB_RESOURCE")
	if resource == "" {
		log.Fatal("LAB_RESOURCE names no resource")
	}
	log.Fatal(serve(resource))
}
