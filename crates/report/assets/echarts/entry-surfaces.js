// The parts of Apache ECharts that sharebench reports use, and those of ECharts GL that draw surfaces, as one browser global.
import { init, use } from 'echarts/core';
import { CustomChart, HeatmapChart, LineChart } from 'echarts/charts';
import { AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent, VisualMapPiecewiseComponent } from 'echarts/components';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';
import { SurfaceChart } from 'echarts-gl/charts';
import { Grid3DComponent } from 'echarts-gl/components';
use([CustomChart, HeatmapChart, LineChart, AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent, VisualMapPiecewiseComponent, CanvasRenderer, SVGRenderer, SurfaceChart, Grid3DComponent]);
export { init };
